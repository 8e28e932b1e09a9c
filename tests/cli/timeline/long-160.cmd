COLUMNS=160 LINES=40 tidemark timeline long.db --plot
