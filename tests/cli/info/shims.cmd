# Programs that reported nothing share a line, and a command has one line unless it would look like another.
tidemark info shims.db | sed -n '/^Processes/,/^$/p'
COLUMNS=80 NO_COLOR=1 script -qec 'tidemark info shims.db' /dev/null | tr -d '\r' | sed -n '/^Processes/,/^$/p'
tidemark info shims.db --process 3 | sed -n '/^Processes/,/^$/p'
tidemark info shims.db --format csv | sed -n '/^# processes/,/^$/p' | cut -d, -f1,2,6
COLUMNS=40 NO_COLOR=1 script -qec 'tidemark info shims.db' /dev/null | tr -d '\r' | sed -n '/^program/,/^began/p'
