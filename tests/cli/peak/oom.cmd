tidemark peak frag.db --all
