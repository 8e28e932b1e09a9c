head -c 61440 train.db >cut.db
tidemark repair cut.db --format csv
