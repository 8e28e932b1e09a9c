tidemark diff before.db after.db --rank 0 --format csv
