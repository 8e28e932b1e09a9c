tidemark leaks leaks.db
