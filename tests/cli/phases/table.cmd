tidemark phases train.db
