tidemark why train.db --steps 0..1 --top 1
