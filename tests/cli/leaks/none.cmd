tidemark leaks train.db --keep 1 --warm-up 0
