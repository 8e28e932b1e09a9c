tidemark ladder pools.db 0/backward --process 901 -f csv; tidemark ladder pools.db --device cuda:0 --steps 0
