tidemark peak train.db -f csv
