tidemark peak outdone.db --all
