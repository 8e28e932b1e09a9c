tidemark import nowhere.pickle -o run.db
