tidemark frag pools.db --oom; tidemark frag pools.db --oom --rank 0
