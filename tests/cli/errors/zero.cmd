tr "\0" "\0" </dev/null >zero.db
tidemark peak zero.db
