COLUMNS=60 NO_COLOR=1 script -qec 'tidemark leaks leaks.db' /dev/null | tr -d '\r'
