tidemark ladder ranks.db; tidemark ladder ranks.db --rank 1 --format csv
