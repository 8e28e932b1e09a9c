tidemark live ranks.db end --format csv --top 1
