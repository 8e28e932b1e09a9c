tidemark frag pools.db end
