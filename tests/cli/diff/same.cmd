tidemark diff train.db train.db; tidemark diff ranks.db ranks.db --format csv
