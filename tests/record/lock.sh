#!/bin/sh
# Another program has the write lock for a second and more while the program is recorded: the program
# runs on, and each event is stored or counted as lost.
. "$(dirname "$0")/lib.sh"

is_running() {
    [ "$(od -An -v -tu8 -j4088 -N8 counts | tr -d ' ')" -gt 0 ]
}

mkfifo hold
rm -f counts
record_behind -- "$programs/prog_count" counts 2 600000 33
wait_until is_running
wait_until sh -c "[ \"\$(sqlite3 -readonly run.db 'SELECT count(*) > 0 FROM allocation')\" = 1 ]"
sqlite3 -batch run.db <hold >held &
holder=$!
exec 9>hold
printf '.timeout 60000\nBEGIN IMMEDIATE;\nSELECT count(*) FROM allocation;\n' >&9
wait_until test -s held
sleep 1.5
echo 'SELECT count(*) FROM allocation;' >&9
wait_until sh -c '[ "$(wc -l <held)" = 2 ]'
is "$(sort -u held | wc -l)" 1 "what was stored meanwhile"
echo 'ROLLBACK;' >&9
exec 9>&-
wait $holder
kill -USR1 "$(od -An -v -tu8 -j4088 -N8 counts | tr -d ' ')"
wait_for_recorder
is $status 33 "the program's own exit status"
finished
is "$(accounted)" "$(published)" "events that are stored or counted as lost"
is "$(ask 'PRAGMA integrity_check')" ok "integrity"
end_of_tests
