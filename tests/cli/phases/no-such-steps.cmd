tidemark phases train.db --steps 9..
