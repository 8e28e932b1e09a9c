COLUMNS=80 LINES=24 TERM=xterm script -qec 'tidemark timeline train.db --bytes-by category' /dev/null | tr -d '\r'
