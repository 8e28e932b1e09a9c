tidemark sql train.db "SELECT 1 AS one; -- a comment
; SELECT 2 AS two, 3 AS three; SELECT 4 AS four WHERE 0;"
