tidemark peak train.db --all --steps 0
