#!/bin/sh
# How a recording ends: as the program ended.
. "$(dirname "$0")/lib.sh"

record -- "$story" alloc 3 exit 7
is $status 7 "exit status"
finished
is "$(ask 'SELECT id, origin, ended, exit_code, signal IS NULL, events FROM process')" \
    "1|root|exit|7|1|3" "process row"
is "$(ask 'SELECT count(*), sum(size) FROM allocation')" "3|3000" "blocks"
says "nothing was lost"
says "recorded into run.db"
says "next: tidemark peak run.db"

record -- "$story" begin forward end exit 2
says "next: tidemark info run.db"

record -- "$story" alloc 1 _exit 5
is $status 5 "_exit status"
is "$(ask 'SELECT ended, exit_code, events FROM process')" "exit|5|1" "a row after _exit"

for signal in 6 9 11 15; do
    record -- "$story" alloc 2 raise $signal
    is $status $((128 + signal)) "death by signal $signal"
    finished
    is "$(ask 'SELECT ended, signal, exit_code IS NULL, events FROM process')" "signal|$signal|1|2" \
        "a row after signal $signal"
done

record -- ./no-such-program
is $status 127 "not found"
says "cannot run ./no-such-program"
is "$(ls)" "$(printf 'err\nout')" "what is left of a program that is not there"
echo text >plain
record -- ./plain
is $status 126 "not executable"
is "$(ls run.db* 2>/dev/null)" "" "what is left of a program that is not executable"

# The program has what it would have without us.
record -- sh -c 'ls /proc/self/fd | tr "\n" " "; grep SigIgn /proc/self/status; grep SigBlk /proc/self/status; ulimit -n'
mv out recorded
sh -c 'ls /proc/self/fd | tr "\n" " "; grep SigIgn /proc/self/status; grep SigBlk /proc/self/status; ulimit -n' >bare
is "$(cat recorded)" "$(cat bare)" "descriptors, signals, limits"

# SIGINT is the program's: both get it from the terminal.
record_behind -- "$story" alloc 1 catch 2 exit 3
wait_until grep -q ready out
kill -INT $(cat /proc/$recorder/task/$recorder/children) $recorder
wait_for_recorder
is $status 3 "SIGINT that the program handles"
finished

for signal in INT QUIT; do
    record_behind -- "$story" alloc 1 catch $([ $signal = INT ] && echo 2 || echo 3) exit 4
    wait_until grep -q ready out
    kill -$signal $recorder
    wait_for_recorder
    is $status 4 "SIG$signal that is sent to the recorder alone"
done

record_behind -- "$story" alloc 1 catch 15 alloc 1 exit 4
wait_until grep -q ready out
kill -TERM $recorder
wait_for_recorder
is $status 4 "SIGTERM is forwarded"
is "$(ask 'SELECT events FROM process')" 2 "events after SIGTERM"

record_behind -- "$story" alloc 1 catch 10 exit 6
wait_until grep -q ready out
kill -USR1 $recorder
wait_for_recorder
is $status 6 "SIGUSR1 is forwarded"

# A program that does not care: the third SIGTERM ends the recording, and the file is whole.
record_behind -- sh -c 'trap "" TERM; '"$story"' alloc 5; echo ready; sleep 900; exit 0'
wait_until grep -q ready out
root=$(children $recorder)
has_child() {
    [ -n "$(children $root)" ]
}
wait_until has_child
left="$root $(children $root)"
while kill -TERM $recorder 2>/dev/null; do # until three have come: several may be one
    sleep 0.1
done
wait_for_recorder
is $status 143 "three SIGTERMs"
finished
is "$(ask 'SELECT ended FROM process WHERE id=1')" "left running" "who would not end"
says "left running"
kill -9 $left
end_of_tests
