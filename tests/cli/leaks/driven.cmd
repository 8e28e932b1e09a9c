tidemark leaks driven.db; tidemark leaks driven.db --format csv
