head -c 9000 train.db >short.db
tidemark phases short.db
