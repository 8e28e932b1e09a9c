tidemark diff empty.db train.db
