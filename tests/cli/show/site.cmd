tidemark show train.db site:4; tidemark show train.db main --top 2
