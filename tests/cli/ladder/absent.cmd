tidemark ladder frag.db 9; tidemark ladder silent.db; tidemark ladder frag.db --steps 7
