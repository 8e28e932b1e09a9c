tidemark live train.db @30ms --format json --top 2
