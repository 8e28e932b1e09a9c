#!/bin/sh
# SIGKILL to the recorder at random moments: the program runs on to its own end, the file opens, and
# is at most a commit short.
#
#     kill_recorder.sh PROGRAMS GUEST ROUNDS MS [LIMIT_MS]
#
# Without LIMIT_MS the first is killed when it has stored what was there at a moment; that is there
# behind. With it, which wants a machine of its own, what was there a second before has to be, and no call
# of the program may have taken longer, unless the processor was taken away from it meanwhile.
. "$(dirname "$0")/lib.sh"
ms=${4:-500}
limit=${5:-}

# word OFFSET: of the file of counters.
word() {
    od -An -v -tu8 -j"$1" -N8 counts 2>/dev/null | tr -d ' '
}
is_running() {
    [ "$(word 4088)" -gt 0 ]
}
# is_held COUNT: so many events were stored, or are known to be lost.
is_held() {
    stored=$(accounted) && [ "$stored" -ge "$1" ]
}

# A small ring and a small queue: what is on its way is little.
round=0
late=0
checked=0
slowest=0
while [ $round -lt "$rounds" ]; do
    rm -f counts ended
    length=$ms
    # This one is killed when it has commits behind it.
    [ $round -gt 0 ] || length=$([ -n "$limit" ] && echo 2500 || echo 600000)
    record_behind -b 12 -q 1000000 -- sh -c "$programs/prog_count counts 2 $length 33; echo \$? >ended"
    wait_until is_running
    pause=$(awk -v seed="$round$$" -v ms="$ms" 'BEGIN { srand(seed); print int(rand() * ms * 0.9) }')
    before=
    if [ $round -eq 0 ] && [ -z "$limit" ]; then
        pause=0
        before=$(published)
        wait_until is_held "$before"
    fi
    [ $round -gt 0 ] || [ -z "$limit" ] || pause=1300
    if [ "$pause" -gt 1000 ]; then
        sleep "$(awk -v ms="$pause" 'BEGIN { print (ms - 1000) / 1000 }')"
        before=$(published)
        pause=1000
    fi
    sleep "$(awk -v ms="$pause" 'BEGIN { print ms / 1000 }')"
    kill -9 $recorder
    wait_for_recorder
    [ $round -gt 0 ] || [ -n "$limit" ] || kill -USR1 "$(word 4088)"
    wait_until test -s ended
    is "$(cat ended)" 33 "round $round: the program's own exit status"
    whole
    finished=$(ask "SELECT value FROM meta WHERE key='finished'")
    if [ "$finished" = 1 ] && [ $late -lt "$rounds" ]; then
        late=$((late + 1)) # the program was quicker than the signal
        continue
    fi
    is "$status $finished" "137 0" "round $round: the recorder is dead, the recording not finished"
    if [ -n "$before" ]; then
        is "$(is_held "$before" && echo yes)" yes "round $round: $before events were there before"
        checked=$((checked + 1))
    fi
    longest=$(word 4072)
    [ "$longest" -gt "$slowest" ] && slowest=$longest
    [ $failures -eq 0 ] || break
    round=$((round + 1))
done
is "$([ $checked -gt 0 ] && echo yes)" yes "a round that could tell"
[ -z "$limit" ] || is "$([ $((slowest / 1000000)) -le "$limit" ] && echo yes)" yes \
    "no call took longer than $limit ms, but $((slowest / 1000)) us"
echo "$round rounds, $checked against the counters, the longest undisturbed call took $((slowest / 1000)) us"
end_of_tests
