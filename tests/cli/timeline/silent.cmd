tidemark timeline silent.db --plot
