tidemark frag frag.db --over-time --device cuda:0 --format csv
