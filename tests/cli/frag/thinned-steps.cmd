tidemark frag reserved.db --steps 1..4 | tail -1; tidemark frag reserved.db | tail -1
