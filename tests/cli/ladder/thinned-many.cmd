tidemark ladder thinned-many.db @15ms; tidemark ladder thinned-many.db 1 | tail -2
