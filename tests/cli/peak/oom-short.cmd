tidemark peak limit.db
