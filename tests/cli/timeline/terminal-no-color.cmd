COLUMNS=80 LINES=24 NO_COLOR=1 TERM=xterm script -qec 'tidemark timeline train.db' /dev/null | tr -d '\r'
