COLUMNS=60 NO_COLOR=1 script -qec 'tidemark frag frag.db 1/backward --top 5' /dev/null | tr -d '\r'
