tidemark peak ranks.db -f csv
