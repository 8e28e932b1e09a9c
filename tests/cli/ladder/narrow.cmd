COLUMNS=60 NO_COLOR=1 script -qec 'tidemark ladder frag.db' /dev/null | tr -d '\r'
