COLUMNS=80 LINES=24 tidemark timeline thinned.db --plot
