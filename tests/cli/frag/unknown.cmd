tidemark frag frag.db --device cpu; tidemark frag frag.db --device cpu -f csv; tidemark frag ranks.db
