tidemark timeline long.db --steps 7 --format table
