COLUMNS=160 LINES=24 tidemark timeline long.db --plot --by events
