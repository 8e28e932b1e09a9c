tidemark sql train.db
