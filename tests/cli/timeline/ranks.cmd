COLUMNS=80 LINES=40 tidemark timeline ranks.db --plot
