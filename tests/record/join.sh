#!/bin/sh
# `tidemark record --join`: a second program's processes are in the recording of the first, which it neither
# ends nor holds up; where nobody records, nothing is started.
tidemark=$3
. "$(dirname "$0")/lib.sh"

# first WORDS ...: a recorder of run.db whose program waits for the file `go`.
first() {
    rm -f run.db run.db-wal run.db-shm go
    # shellcheck disable=SC2016
    "$tidemark" record -o run.db "$@" -- sh -c 'echo $$ >pid; until [ -e go ]; do sleep 0.02; done; exec "$0" begin first end' \
        "$story" >first.out 2>first.err &
    recorder=$!
    wait_until is_writing
}
is_writing() {
    [ -e run.db ] && has_processes 1
}
has_processes() {
    [ "$(ask 'SELECT count(*) FROM process')" -ge "$1" ]
}
program_is_gone() {
    ! kill -0 "$(cat pid)"
}
join() {
    "$tidemark" record --join "$@" >out 2>err
    status=$?
}

first --wait all
join run.db -- sh -c "$story begin second end exit 9"
is "$status $(cat out err)" "9 " "the program's status, and nothing is said"
join "$work/./run.db" -- "$story" begin third end
is "$status" 0 "by another name of it"
before=$(ask 'SELECT count(*) FROM process')
join run.db -- "$story" sleep 1500 begin late end &
late=$!
wait_until has_processes $((before + 1))
touch go
wait_for_recorder
wait $late
is "$status" 0 "the first program's status"
finished
named="name IN ('first', 'second', 'third', 'late')"
is "$(ask "SELECT name FROM phase WHERE $named ORDER BY name" | tr '\n' ' ')" \
    "first late second third " "phases of all"
is "$(ask "SELECT count(DISTINCT process) FROM phase WHERE $named")" 4 "of four processes"
is "$(ask "SELECT count(*) FROM process WHERE parent IS NULL AND id > 1 AND events > 0")" 3 \
    "who joined has no parent here"

# Where nobody records.
refused() {
    is "$status $(cat err)" "3 tidemark: no recorder runs on $1" "$2"
    [ ! -e started ] || is "it was" "not started" "the program, $2"
}
join run.db -- touch started
refused "run.db: it is finished" "a finished one"
first
cp run.db copy.db
join copy.db -- touch started
refused "copy.db" "a copy of one that is written"
kill -9 $recorder
wait_for_recorder
join run.db -- touch started
refused "run.db" "one whose recorder was killed"
touch go
wait_until program_is_gone # it would wait for a file in a folder that is removed
echo nothing >other.db
join other.db -- touch started
refused "other.db: it is no recording" "no recording"
join none.db -- touch started
is "$status $(cat err)" "3 tidemark: none.db: No such file or directory" "no file"
join run.db -o x.db -- touch started
is "$status" 2 "what is about the file"
end_of_tests
