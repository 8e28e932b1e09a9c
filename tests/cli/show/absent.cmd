tidemark show train.db site:999; tidemark show train.db block:1; tidemark show train.db "no such frame"; tidemark show empty.db main
