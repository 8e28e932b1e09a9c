tidemark diff before.db after.db
