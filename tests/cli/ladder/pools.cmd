tidemark ladder pools.db; tidemark ladder pools.db end --rank 0 --device cuda:0
