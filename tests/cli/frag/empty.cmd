tidemark frag empty.db
