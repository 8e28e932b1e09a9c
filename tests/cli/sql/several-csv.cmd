tidemark sql train.db -f csv "SELECT 1 AS one; SELECT 2 AS two"
