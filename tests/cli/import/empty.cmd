: > nothing.pickle
tidemark import nothing.pickle -o run.db
