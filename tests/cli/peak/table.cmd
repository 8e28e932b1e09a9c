tidemark peak train.db --all
