tidemark frag frag.db 1/backward --format csv
