tidemark timeline long.db --format json --steps 59
