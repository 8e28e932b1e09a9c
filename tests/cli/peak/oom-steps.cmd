tidemark peak frag.db --steps 0..1 --top 1
