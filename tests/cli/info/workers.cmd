tidemark info workers.db | sed 's/^size .*/size SIZE/'
tidemark info workers.db -p 3 | sed 's/^size .*/size SIZE/' | sed -n '/^Processes/,/^Devices/p'
tidemark info workers.db -f csv | sed -n '/^# processes/,/^$/p'
