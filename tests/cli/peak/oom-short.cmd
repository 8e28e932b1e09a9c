tidemark peak limit.db --all
