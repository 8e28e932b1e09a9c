# What saves most changes the training's numbers: it stands behind the others, and is named.
sqlite3 train.db "UPDATE string SET text = 'batch_norm' WHERE text = 'encode'"
tidemark train.db | tail -7 | cut -c 1-110
