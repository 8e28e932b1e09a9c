COLUMNS=80 LINES=24 TERM=dumb script -qec 'tidemark timeline train.db' /dev/null | tr -d '\r'
