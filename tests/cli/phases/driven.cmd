tidemark phases plain.db; tidemark phases plain.db --all --steps 0..0 --format csv; tidemark phases plain.db --follow --device cuda:1
