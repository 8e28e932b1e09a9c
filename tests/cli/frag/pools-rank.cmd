tidemark frag pools.db 0/forward --rank 1 -f csv; tidemark frag pools.db 0/backward --process 1 --device cuda:0 --top 2
