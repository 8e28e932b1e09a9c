tidemark leaks leaks.db --format json
