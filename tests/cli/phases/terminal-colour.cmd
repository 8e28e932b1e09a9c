COLUMNS=80 TERM=xterm script -qec 'tidemark phases train.db --steps 1' /dev/null | tr -d '\r'
