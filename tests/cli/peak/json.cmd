tidemark peak train.db -f json --top 2
