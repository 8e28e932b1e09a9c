tidemark ladder thinned.db 200
tidemark ladder thinned.db 200/backward
tidemark ladder thinned.db 200 -f csv
tidemark ladder thinned.db --steps 25..40 | tail -1; tidemark ladder thinned.db --steps 25..29 | tail -1
