tidemark timeline long.db --steps 7
