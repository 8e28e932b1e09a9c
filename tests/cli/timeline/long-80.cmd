COLUMNS=80 LINES=24 tidemark timeline long.db --plot
