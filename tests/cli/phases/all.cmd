tidemark phases train.db --all --steps 0
