mkdir none
cd none
tidemark peak
