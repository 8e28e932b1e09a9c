tidemark sql train.db -f json "SELECT 1 AS one; SELECT 2 AS two; SELECT 1 WHERE 0"
