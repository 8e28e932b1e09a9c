tidemark peak --top ten train.db; tidemark peak --top 0 train.db; tidemark peak --top=99999999999999999999 train.db
