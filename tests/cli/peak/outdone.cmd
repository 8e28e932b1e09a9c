tidemark peak outdone.db
