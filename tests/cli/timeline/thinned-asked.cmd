COLUMNS=80 LINES=16 tidemark timeline thinned.db --plot --steps 25..60 | tail -5
COLUMNS=80 LINES=16 tidemark timeline thinned.db --plot --steps 290..310 | tail -5
COLUMNS=80 LINES=16 tidemark timeline thinned.db --plot --steps 299..301 | tail -3
COLUMNS=80 LINES=16 tidemark timeline thinned.db --plot --steps 680.. | tail -3
