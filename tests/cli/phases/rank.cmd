tidemark phases ranks.db --rank 1
