COLUMNS=160 LINES=40 TERM=xterm script -qec 'tidemark timeline train.db' /dev/null | tr -d '\r'
