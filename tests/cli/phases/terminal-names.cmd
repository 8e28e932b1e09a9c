COLUMNS=80 NO_COLOR=1 script -qec 'tidemark phases ranks.db' /dev/null | tr -d '\r'
