COLUMNS=80 LINES=24 tidemark timeline train.db --plot --bytes-by category
