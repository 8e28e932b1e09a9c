tidemark phases silent.db
