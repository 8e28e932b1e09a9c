tidemark ladder thinned.db @0.2995s | sed -n 2,5p
tidemark ladder thinned.db @0.3s
tidemark ladder thinned.db @2.9899s -f csv
tidemark ladder thinned.db @2.9905s | sed -n 2,5p
tidemark ladder thinned.db @2.992s | sed -n 2,5p
