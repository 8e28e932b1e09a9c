tidemark peak ranks.db --all
