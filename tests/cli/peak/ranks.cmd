tidemark peak ranks.db
