tidemark peak gpu.db --format json
