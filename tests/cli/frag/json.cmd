tidemark frag frag.db 1/backward --format json --top 3
