tidemark info train.db -f csv | sed 's/^train.db,[0-9]*/train.db,SIZE/' 
