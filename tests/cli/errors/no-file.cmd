tidemark info nothing.db
