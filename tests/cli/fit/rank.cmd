tidemark fit ranks.db --rank 1 -f csv
