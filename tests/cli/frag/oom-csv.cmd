tidemark frag frag.db --oom --format csv
