tidemark ladder frag.db end --device cuda:0; tidemark ladder frag.db @37ms --device cuda:0; tidemark ladder train.db 0/forward
