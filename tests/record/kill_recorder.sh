#!/bin/sh
# SIGKILL to the recorder at random moments: the program runs on to its own end, the file opens.
. "$(dirname "$0")/lib.sh"
ms=${4:-500}

# What was committed is there.
record_behind -- sh -c "$programs/prog_count counts 1 3000 33; echo \$? >ended"
wait_until sh -c "[ \"\$(sqlite3 -readonly run.db 'SELECT count(*) FROM allocation' 2>/dev/null)\" -gt 0 ]"
seen=$(ask 'SELECT count(*) FROM allocation')
kill -9 $recorder
wait_for_recorder
wait_until test -s ended
is "$(cat ended)" 33 "the program's own exit status"
whole
is "$(ask "SELECT count(*)>=$seen FROM allocation")" 1 "rows seen before the recorder was killed"

round=0
late=0
slowest=0
while [ $round -lt "$rounds" ]; do
    rm -f counts ended
    record_behind -- sh -c "$programs/prog_count counts 2 $ms 33; echo \$? >ended"
    wait_until sh -c "[ \"\$(od -An -v -tu8 -j4088 counts 2>/dev/null | tr -d ' ')\" -gt 0 ]" 2>/dev/null
    sleep "$(awk -v seed="$round$$" -v ms="$ms" 'BEGIN { srand(seed); print rand() * ms * 0.0009 }')"
    kill -9 $recorder
    wait_for_recorder
    wait_until test -s ended
    is "$(cat ended)" 33 "round $round: the program's own exit status"
    whole
    finished=$(ask "SELECT value FROM meta WHERE key='finished'")
    if [ "$finished" = 1 ] && [ $late -lt "$rounds" ]; then
        late=$((late + 1)) # the program was quicker than the signal
        continue
    fi
    is "$status $finished" "137 0" "round $round: the recorder is dead, the recording not finished"
    longest=$(od -An -v -tu8 -j4080 -N8 counts | tr -d ' ')
    [ "$longest" -gt "$slowest" ] && slowest=$longest
    [ $failures -eq 0 ] || break
    round=$((round + 1))
done
echo "$round rounds, the longest step of the program took $((slowest / 1000)) us"
end_of_tests
