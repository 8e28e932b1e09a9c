COLUMNS=160 NO_COLOR=1 script -qec 'tidemark peak ranks.db' /dev/null | tr -d '\r'
