tidemark frag train.db --top 2
