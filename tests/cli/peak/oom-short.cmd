tidemark peak short.db
