tidemark diff train.db leaks.db --top 1
