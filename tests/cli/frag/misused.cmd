tidemark frag frag.db end --oom; tidemark frag frag.db --over-time --oom; tidemark frag frag.db end 7; tidemark frag --order best
