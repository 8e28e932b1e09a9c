#!/bin/sh
# The recorder is stopped while the program starts others: all of them run to their ends, unrecorded if it
# takes too long, and when it goes on the recording ends well.
. "$(dirname "$0")/lib.sh"

rm -f go started ended
record_behind -- sh -c "echo >started; until [ -e go ]; do sleep 0.05; done
    for i in 1 2 3 4 5 6; do $story alloc 2 || echo \"failed \$?\" >>ended; done; echo all >>ended; exit 21"
wait_until test -e started
kill -STOP $recorder
>go
wait_until test -s ended
is "$(cat ended)" all "what the programs said"
kill -CONT $recorder
wait_for_recorder
is $status 21 "exit status"
finished
is "$(ask 'PRAGMA integrity_check')" ok "integrity"
end_of_tests
