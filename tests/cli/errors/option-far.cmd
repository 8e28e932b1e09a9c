tidemark peak --xyzzy train.db
