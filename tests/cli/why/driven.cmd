tidemark why plain.db; tidemark why plain.db @6ms..end --device cuda:0; tidemark why plain.db @6ms..end --device cuda:0 --format csv; tidemark why plain.db 7..8
