tidemark peak plain.db
