tidemark frag ranks.db --oom; tidemark frag train.db --oom
