tidemark leaks train.db; tidemark leaks train.db --format csv
