tidemark ladder thinned.db 200
tidemark ladder thinned.db 200/backward
