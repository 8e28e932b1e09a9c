tidemark phases ranks.db --rank 7 --process 101
