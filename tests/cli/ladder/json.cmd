tidemark ladder frag.db 1/backward --format json
