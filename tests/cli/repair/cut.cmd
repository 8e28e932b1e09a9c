head -c 81920 train.db >cut.db
tidemark repair cut.db
