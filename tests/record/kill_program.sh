#!/bin/sh
# SIGKILL to the recorded program at random moments, with 1, 2 and 16 threads: all that it had
# published is in the database. (A recorder that a busy machine does not let run for 100 ms drops
# events; it must have counted them.)
. "$(dirname "$0")/lib.sh"

round=0
torn=0
lost=0
while [ $round -lt "$rounds" ]; do
    case $((round % 3)) in 0) threads=1 ;; 1) threads=2 ;; 2) threads=16 ;; esac
    rm -f counts
    record_behind -- "$programs/prog_count" counts $threads 60000 0
    pid=0
    wait_until sh -c "[ \"\$(od -An -v -tu8 -j4088 counts 2>/dev/null | tr -d ' ')\" -gt 0 ]" 2>/dev/null
    pid=$(od -An -v -tu8 -j4088 counts | tr -d ' ')
    sleep "0.$(awk -v seed="$round$$" 'BEGIN { srand(seed); printf "%03d", rand() * 120 }')"
    kill -9 "$pid"
    wait_for_recorder
    is $status 137 "round $round: death by SIGKILL"
    finished
    counted=$(published)
    dropped=$(ask 'SELECT coalesce(sum(n), 0) FROM lost')
    is "$(ask "SELECT signal, events + $dropped >= $counted, first_seq FROM process")" "9|1|1" \
        "round $round: $threads threads, $counted events counted, $(ask 'SELECT events FROM process') stored"
    lost=$((lost + dropped))
    torn=$((torn + $(ask 'SELECT count(*) FROM torn')))
    [ $failures -eq 0 ] || break
    round=$((round + 1))
done
echo "$round rounds, $torn torn events, $lost dropped because the recorder stood still"
end_of_tests
