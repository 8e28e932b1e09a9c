tidemark peak --stpes 1 train.db
