tidemark timeline empty.db; tidemark timeline empty.db --plot
