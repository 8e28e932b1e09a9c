tidemark why train.db --format json
