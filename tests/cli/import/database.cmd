tidemark import train.db -o run.db
