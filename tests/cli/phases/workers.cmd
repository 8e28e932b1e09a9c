# Those that train nothing are one line, but for the one that has more memory than who trains.
tidemark phases workers.db
