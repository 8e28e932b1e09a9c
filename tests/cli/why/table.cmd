tidemark why train.db
