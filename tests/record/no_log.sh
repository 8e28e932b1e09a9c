#!/bin/sh
# The recorder is killed, and its file copied with and without the log: what is said of each.
#
#     no_log.sh PROGRAMS GUEST TIDEMARK
. "$(dirname "$0")/lib.sh"
tidemark=$3

has_commits() {
    [ "$(ask 'SELECT count(*) > 0 FROM allocation')" = 1 ]
}
# repair FILE: what it says into said, the state into $state, its exit status into $status.
repair() {
    "$tidemark" repair --check "$1" >said 2>&1
    status=$?
    state=$(sed -n 's/^state *//p' said)
}
reports_say() { # FILE TEXT yes|no
    for report in peak phases info; do
        said=no
        "$tidemark" $report "$1" 2>&1 | grep -q -e "$2" && said=yes
        is $said "$3" "$report of $1 says '$2'"
    done
}
log="missing or empty"

# Commits of a second, not enough for one to be moved out of the log.
record_behind -- "$story" begin work alloc 40 sleep 30000 end exit 0
wait_until has_commits || is no yes "a commit"
repair run.db
is "$status $state" "0 sound" "a recording that is being written"
reports_say run.db "$log" no
program=$(children "$recorder")
kill -9 "$recorder"
wait_for_recorder
kill $program

repair run.db
is "$status $state" "0 sound" "a killed one with its log"
reports_say run.db "$log" no
reports_say run.db "not finished: still being written, the recorder was killed" yes

cp run.db alone.db
repair alone.db
is "$status $state" "1 not whole: its log is missing or empty" "a copy without it"
grep -q "its log (alone.db-wal)" said || is "$(cat said)" "the log's name" "what is said"
is "$(grep -c "nothing to repair" said)" 0 "that nothing is to repair"
reports_say alone.db "its log (alone.db-wal) is $log" yes
cp run.db-wal alone.db-wal
rm -f alone.db-shm
repair alone.db
is "$status $state" "0 sound" "the copy with its log"

# One that ended in good order has no log, and needs none.
record -- "$story" begin work alloc 40 end exit 0
finished
cp run.db whole.db
repair whole.db
is "$status $state" "0 sound" "a finished one"
reports_say whole.db "$log" no
end_of_tests
