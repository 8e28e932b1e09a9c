tidemark leaks leaks.db --steps 3..5 --keep 3
