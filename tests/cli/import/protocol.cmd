printf '\200\011.' > s.pickle
tidemark import s.pickle -o run.db
