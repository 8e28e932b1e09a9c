tidemark frag limit.db --oom
