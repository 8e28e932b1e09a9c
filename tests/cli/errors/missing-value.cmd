tidemark peak --top
