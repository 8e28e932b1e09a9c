COLUMNS=80 LC_ALL=C NO_COLOR=1 script -qec 'tidemark frag frag.db 1/backward' /dev/null | tr -d '\r' | sed -n '/^Segments/,/^# in use/p'
