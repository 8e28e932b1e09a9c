#!/bin/sh
# The file: where it may not be, when the disk is full, when somebody holds it.
. "$(dirname "$0")/lib.sh"

echo precious >there.db
"$programs/record_driver" -o there.db -g "$guest" -- sh -c 'echo ran >ran' >out 2>err
is $? 3 "a file that exists"
says "there.db exists already"
is "$(cat there.db; ls ran 2>/dev/null)" precious "nothing ran, nothing was touched"

"$programs/record_driver" -o no/such/folder.db -g "$guest" -- sh -c 'echo ran >ran' >out 2>err
is $? 3 "a folder that does not exist"
says "cannot create no/such/folder.db"
"$programs/record_driver" -o "" -g "$guest" -- sh -c 'echo ran >ran' >out 2>err
is $? 2 "a file without a name"
if [ "$(id -u)" != 0 ]; then
    mkdir locked && chmod 500 locked
    "$programs/record_driver" -o locked/run.db -g "$guest" -- sh -c 'echo ran >ran' >out 2>err
    is $? 3 "a folder that may not be written"
    says "Permission denied"
fi
is "$(ls ran 2>/dev/null)" "" "nothing ran"

# The default name.
mkdir default && cd default || exit 99
"$programs/record_driver" -g "$guest" -- "$story" alloc 1 >../out 2>../err
is "$(ls | grep -c '^tidemark\.20[0-9]*-[0-9]*-[0-9]*\.db$')" 1 "the default name"
cd .. || exit 99

# Staged, as on a network file system.
mkdir tmp
rm -f run.db
TMPDIR=$work/tmp "$programs/record_driver" -s -o run.db -g "$guest" -- \
    sh -c "ls tmp >seen; exec $story alloc 3" >out 2>err
is "$(grep -c 'tidemark-recording-[0-9]*\.db$' seen)" 1 "staged in TMPDIR"
is "$(ls tmp)" "" "nothing stays there"
finished
is "$(ask 'SELECT count(*) FROM allocation')" 3 "rows of the moved file"
rm -f run.db
TMPDIR=$work/tmp "$programs/record_driver" -s -o run.db -g "$guest" -- \
    sh -c "echo mine >run.db; exec $story alloc 3" >out 2>err
is "$(cat run.db)" mine "a name that was taken meanwhile"
is "$(ask 'SELECT count(*) FROM allocation' tmp/*.db)" 3 "rows of the file that stayed"
says "it is in $work/tmp/tidemark-recording-"

# No room: the program is unharmed, what was stored before can be read.
rm -f run.db out err
(
    ulimit -f 1200
    exec "$programs/record_driver" -o run.db -b 8 -g "$guest" -- \
        "$story" churn 2000 catch 12 churn 200000 exit 11 >out 2>err
) &
recorder=$!
wait_until sh -c "[ \"\$(sqlite3 -readonly run.db 'SELECT count(*) FROM allocation')\" = 2000 ]"
kill -12 $(children $recorder)
wait_for_recorder
is $status 11 "exit status on a full disk"
says "were stored, then the recording stopped: no space left on the device"
says "what came after was not stored; how much that is, is not known"
is "$(grep -c 'nothing was lost' err)" 0 "nothing was lost, on a full disk"
whole
is "$(ask "SELECT value FROM meta WHERE key='stopped'")" "no space left on the device" "meta.stopped"
is "$(ask "SELECT value FROM meta WHERE key='finished'")" 0 "meta.finished on a full disk"
is "$(ask 'SELECT count(*)>=2000 FROM allocation')" 1 "rows committed before"

# A reader that holds a transaction for the whole run.
mkfifo hold
record_behind -- "$story" churn 100 catch 12 churn 3000 exit 10
wait_until sh -c "[ \"\$(sqlite3 -readonly run.db 'SELECT count(*) FROM allocation')\" = 100 ]"
sqlite3 -readonly run.db >held <hold &
reader=$!
exec 9>hold
echo "BEGIN; SELECT count(*) FROM allocation;" >&9
wait_until grep -q 100 held
kill -12 $(children $recorder)
wait_for_recorder
is $status 10 "exit status with a reader"
says "its log (run.db-wal) stays beside it"
is "$(ask 'SELECT count(*) FROM allocation')" 3100 "rows with a reader"
echo "SELECT count(*) FROM allocation;" >&9
exec 9>&-
wait $reader
is "$(cat held)" "$(printf '100\n100')" "what the reader saw"
is "$(ask "SELECT value FROM meta WHERE key='finished'")" 1 "meta.finished with a reader"
whole

# The file is removed while the program runs.
record -- sh -c "$story alloc 5; rm run.db; exec $story alloc 6 exit 3"
is $status 3 "exit status without a file"
says "there is no recording"
says "all of it is lost: run.db was removed while the program ran"
is "$(grep -c 'another program\|nothing was lost' err)" 0 "nobody else is blamed"

# Facts of the run.
record -- "$story" step 1 begin forward alloc 2 end alloc 1
finished
is "$(ask "SELECT value LIKE '%prog_story step 1 begin forward alloc 2 end alloc 1' FROM meta
    WHERE key='command'")" 1 "meta.command"
is "$(ask "SELECT value FROM meta WHERE key='ended'")" "all ended" "meta.ended"
is "$(ask "SELECT count(*) FROM meta WHERE key IN ('tidemark_version', 'cwd', 'host', 'kernel',
    'started', 'start_monotonic_ns', 'recorder_pid', 'cpus', 'page_size', 'ring_slots')")" 10 "meta"
is "$(ask 'SELECT count(*)>=2, min(run_ns)>=0, sum(monotonic_ns-run_ns=(SELECT value FROM meta
    WHERE key="start_monotonic_ns"))=count(*) FROM clock')" "1|1|1" "clock triples"
is "$(ask "SELECT count(*) FROM overhead WHERE process IS NULL AND what IN ('drain cpu', 'writer cpu',
    'supervisor cpu', 'longest commit', 'queue high-water')")" 5 "our own cost"
is "$(ask "SELECT (SELECT value FROM overhead WHERE process IS NULL AND what='events')
    - (SELECT count(*) FROM sample WHERE what LIKE 'number of %')")" 6 "events, counted twice"
end_of_tests
