tidemark fit empty.db --format csv
