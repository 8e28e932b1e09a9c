tidemark peak frag.db --all --steps 0..1 --top 1
