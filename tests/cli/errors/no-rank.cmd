tidemark phases train.db --rank 0
