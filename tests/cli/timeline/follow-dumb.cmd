COLUMNS=80 LINES=24 TERM=dumb timeout 20 script -qec 'tidemark timeline long.db --follow --steps 7' /dev/null | tr -d '\r'
