tidemark peak gpu.db --all
