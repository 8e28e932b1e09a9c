tidemark why empty.db
