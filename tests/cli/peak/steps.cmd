tidemark peak train.db --steps 0
