#!/bin/sh
# A recorder that stands still while the program goes on: nobody waits for long, what is dropped is
# counted, and the recording says where.
. "$(dirname "$0")/lib.sh"

record_behind -b 8 -- "$story" churn 50 catch 12 churn 5000 catch 12 churn 60 exit 5
wait_until grep -q ready out
root=$(children $recorder)
wait_until sh -c "[ \"\$(sqlite3 -readonly run.db 'SELECT count(*) FROM allocation')\" = 50 ]"
kill -STOP $recorder
all_stopped() { # each thread does so when it next has its turn
    [ "$(cat /proc/$recorder/task/*/stat | awk '$3 != "T"' | wc -l)" = 0 ]
}
wait_until all_stopped
kill -12 $root
wait_until sh -c '[ "$(grep -c ready out)" = 2 ]'
kill -CONT $recorder
wait_until sh -c "[ \"\$(sqlite3 -readonly run.db 'SELECT count(*) FROM allocation')\" = 178 ]"
kill -12 $root
wait_for_recorder
is $status 5 "exit status"
finished
stored=$(ask 'SELECT events FROM process')
lost=$(ask 'SELECT sum(n) FROM lost')
is $((stored + lost)) 10220 "stored ($stored) and lost ($lost) events"
is "$(ask "SELECT count(*) > 0 AND sum(kind NOT IN ('block_alloc', 'block_free')) = 0 FROM lost")" 1 "kinds"
is "$(ask 'SELECT min(first_seq) = 356, max(last_seq) = 357, count(DISTINCT first_ns) FROM lost')" \
    "1|1|1" "where: after the 256 that the ring held, before the next"
is "$(ask 'SELECT count(*) FROM allocation WHERE seq > 357')" 59 "blocks after the loss"
is "$(ask "SELECT sum(value) FROM overhead WHERE process=1 AND what='events dropped'")" $lost "overhead"
is "$(ask "SELECT value > 90000000 FROM overhead WHERE process=1 AND what='longest ring wait'")" 1 \
    "the longest wait"
says "events were lost: figures after the first loss are approximate"
end_of_tests
