tidemark timeline train.db --bytes-by category --format csv --steps 1 | head -20
