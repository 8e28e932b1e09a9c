tidemark phases ranks.db
