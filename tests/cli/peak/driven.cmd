tidemark peak plain.db --all
