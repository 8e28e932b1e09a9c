tidemark peak gpu.db
