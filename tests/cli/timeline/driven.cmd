tidemark timeline plain.db --device cuda:0; tidemark timeline plain.db --steps 1..1 --format csv; tidemark timeline plain.db --plot --ascii --device cuda:0
