tidemark frag frag.db --oom --top 1
