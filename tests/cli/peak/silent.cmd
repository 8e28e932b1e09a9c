tidemark peak silent.db --all
