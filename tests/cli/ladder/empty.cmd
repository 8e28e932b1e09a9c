tidemark ladder empty.db
