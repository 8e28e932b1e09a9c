tidemark fit ranks.db
