tidemark sql train.db "SELECT 1 AS one; SELECT nothing"
