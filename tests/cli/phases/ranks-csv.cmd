tidemark phases ranks.db -f csv
