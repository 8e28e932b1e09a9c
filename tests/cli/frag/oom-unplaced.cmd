tidemark frag twogpus.db --oom; tidemark frag twogpus.db --oom --device cuda:0; tidemark frag twogpus.db; tidemark frag twogpus.db end
