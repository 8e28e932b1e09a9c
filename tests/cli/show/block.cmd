tidemark show train.db block:3; tidemark show train.db block:18 --format csv
