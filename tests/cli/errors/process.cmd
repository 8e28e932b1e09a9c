tidemark phases ranks.db --process 99
