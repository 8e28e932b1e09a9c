COLUMNS=80 LINES=24 tidemark timeline ranks.db --plot --rank 1
