tidemark peak frag.db
