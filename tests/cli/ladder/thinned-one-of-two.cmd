tidemark ladder thinned-two.db @15ms
tidemark ladder thinned-two.db @15ms -p 1; echo $?
tidemark ladder thinned-two.db 1 -f csv; tidemark ladder thinned-two.db 1 -p 1
