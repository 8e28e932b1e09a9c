COLUMNS=80 NO_COLOR=1 script -qec 'tidemark info ranks.db' /dev/null | tr -d '\r' | sed 's/^size .*/size SIZE/'
