tidemark fit train.db --memory 8
