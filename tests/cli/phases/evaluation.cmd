tidemark phases evaluated.db
