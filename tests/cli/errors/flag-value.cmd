tidemark phases --all=yes train.db
