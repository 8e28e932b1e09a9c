sql="SELECT 'a' || char(27) || '[31m' AS x, char(155) || '2J' AS y"
script -qec "tidemark sql train.db -f csv \"$sql\"" /dev/null | tr -d '\r'
tidemark sql train.db -f csv "$sql" | od -An -c
tidemark sql train.db -f json "$sql" | grep x
