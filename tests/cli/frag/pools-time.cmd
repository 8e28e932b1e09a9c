tidemark frag pools.db --over-time
