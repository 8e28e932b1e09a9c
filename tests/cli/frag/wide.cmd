COLUMNS=120 NO_COLOR=1 script -qec 'tidemark frag frag.db 1/backward --order size' /dev/null | tr -d '\r'
