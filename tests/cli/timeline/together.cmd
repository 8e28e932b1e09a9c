COLUMNS=80 LINES=60 tidemark timeline together.db --plot
