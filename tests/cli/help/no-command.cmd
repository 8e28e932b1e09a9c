mkdir none
cd none
tidemark
