COLUMNS=160 LINES=40 tidemark timeline train.db --plot
