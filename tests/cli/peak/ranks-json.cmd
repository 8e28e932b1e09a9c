tidemark peak ranks.db -f json
