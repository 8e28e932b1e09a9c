COLUMNS=80 LINES=24 TERM=dumb tidemark timeline train.db --plot
