tidemark peak silent.db
