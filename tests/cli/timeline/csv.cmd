tidemark timeline long.db --format csv --steps 6..7
