#!/bin/sh
# SIGKILL to the recorder behind the program's end, while it stores what is on its way: the file opens, and
# one that says that it is finished has all.
. "$(dirname "$0")/lib.sh"

round=0
while [ $round -lt "$rounds" ]; do
    rm -f counts ended
    record_behind -- sh -c "$programs/prog_count counts 2 300 33; echo \$? >ended; exit 33"
    wait_until test -s ended
    sleep "$(awk -v seed="$round$$" 'BEGIN { srand(seed); print rand() * 0.2 }')"
    kill -9 $recorder 2>/dev/null
    wait_for_recorder
    is "$(cat ended)" 33 "round $round: the program's own exit status"
    is "$(sqlite3 run.db 'PRAGMA integrity_check')" ok "round $round: integrity"
    if [ "$(ask "SELECT value FROM meta WHERE key = 'finished'")" = 1 ]; then
        is "$(accounted)" "$(published)" "round $round: events of a finished one"
    fi
    round=$((round + 1))
done
end_of_tests
