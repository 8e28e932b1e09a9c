COLUMNS=80 LINES=60 tidemark timeline together.db --plot --ascii --process 1; COLUMNS=70 LINES=60 tidemark timeline together.db --plot --ascii | tail -18
