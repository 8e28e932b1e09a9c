tidemark leaks empty.db
