tidemark phases train.db --format json --steps 1
