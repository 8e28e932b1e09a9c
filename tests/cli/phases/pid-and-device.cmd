tidemark phases ranks.db --process 101 --device cpu
