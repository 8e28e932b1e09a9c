COLUMNS=160 LINES=24 tidemark timeline thinned.db --plot
