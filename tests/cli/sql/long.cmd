tidemark sql -f csv train.db "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
    SELECT i FROM n" | awk '{ s += $1 } END { printf "%d %d\n", NR, s }'
tidemark sql train.db "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
    SELECT i, i * i AS square FROM n" | sed -n '1,2p;$p' 
