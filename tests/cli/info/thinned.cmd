tidemark info thinned.db | sed 's/^size .*/size SIZE/'
tidemark info thinned.db -f csv | sed -n '/^# thinned/,/^$/p'
