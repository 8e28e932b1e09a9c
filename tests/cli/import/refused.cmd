printf '\200\004cos\nsystem\n(X\004\000\000\000idtR.' > evil.pickle
tidemark import evil.pickle -o run.db; code=$?; test -e run.db && echo it is there; exit $code
