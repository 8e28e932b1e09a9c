tidemark leaks leaks.db --format csv
