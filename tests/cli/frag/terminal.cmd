COLUMNS=80 NO_COLOR=1 script -qec 'tidemark frag frag.db 1/backward' /dev/null | tr -d '\r'
