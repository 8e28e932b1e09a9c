tidemark why ranks.db --rank 1
