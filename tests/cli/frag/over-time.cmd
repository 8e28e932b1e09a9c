tidemark frag frag.db --over-time; tidemark frag frag.db --over-time --steps 1
