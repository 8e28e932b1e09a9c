tidemark leaks leaks.db --top 1
