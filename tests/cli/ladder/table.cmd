tidemark ladder frag.db
