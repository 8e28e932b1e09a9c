tidemark why silent.db
