COLUMNS=80 LINES=24 LC_ALL=C tidemark timeline train.db --plot
