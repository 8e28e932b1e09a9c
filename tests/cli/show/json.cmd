tidemark show train.db site:2 --format json
