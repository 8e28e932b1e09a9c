tidemark phases evaluated.db --steps 1..1
tidemark phases evaluated.db --steps 2..2 --format csv | cut -d, -f1-4
