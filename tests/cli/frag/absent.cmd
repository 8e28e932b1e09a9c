tidemark frag frag.db 9; tidemark frag silent.db; tidemark frag frag.db --steps 7
