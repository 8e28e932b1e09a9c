tidemark sql train.db "SELECT * FROM phases"
