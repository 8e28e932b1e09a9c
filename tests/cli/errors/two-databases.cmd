tidemark phases train.db ranks.db
