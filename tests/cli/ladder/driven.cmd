tidemark ladder plain.db; tidemark ladder plain.db end --device cuda:0; tidemark ladder plain.db 1/solve --device cuda:1 --format csv
