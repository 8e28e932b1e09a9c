tidemark frag frag.db --device cuda:0 --steps 2.. ; tidemark frag frag.db --device cuda:0 @40ms --top 2
