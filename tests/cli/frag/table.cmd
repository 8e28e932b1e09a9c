tidemark frag frag.db
