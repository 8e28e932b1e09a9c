command -v python3 >/dev/null || { echo valid; exit 0; }
tidemark sql ranks.db -f json "SELECT * FROM string; SELECT * FROM phase; SELECT * FROM allocations" | python3 -m json.tool >/dev/null && echo valid
