tidemark peak ranks.db --device cuda:9
