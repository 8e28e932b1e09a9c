tidemark ladder frag.db 1 2 3; tidemark ladder frag.db other.db
