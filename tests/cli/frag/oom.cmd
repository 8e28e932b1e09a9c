tidemark frag frag.db --oom
