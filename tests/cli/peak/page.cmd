tidemark peak train.db
