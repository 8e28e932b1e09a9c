#!/bin/sh
# SIGKILL to the recorder behind the program's end, while it stores what is on its way: the file opens, and
# one that says that it is finished has all. In every second round another program has the write lock when
# the program ends, so that the recorder is never done by then.
. "$(dirname "$0")/lib.sh"

has_rows() {
    [ "$(ask 'SELECT count(*) > 0 FROM allocation')" = 1 ]
}

hold_the_lock() {
    rm -f hold held
    mkfifo hold
    wait_until has_rows
    sqlite3 -batch run.db <hold >held &
    holder=$!
    exec 9>hold
    printf ".timeout 60000\nBEGIN IMMEDIATE;\nSELECT 'held';\n" >&9
    wait_until test -s held
}

let_go() {
    echo 'ROLLBACK;' >&9
    exec 9>&-
    wait $holder
}

kill_behind_the_end() {
    wait_until test -s ended
    sleep "$(awk -v seed="$round$$" 'BEGIN { srand(seed); print rand() * 0.2 }')"
    kill -9 $recorder 2>/dev/null
    wait_for_recorder
}

is_sound() {
    is "$(cat ended)" 33 "round $round: the program's own exit status"
    is "$(ask 'PRAGMA integrity_check')" ok "round $round: integrity"
    if [ "$(ask "SELECT value FROM meta WHERE key = 'finished'")" = 1 ]; then
        is "$(accounted)" "$(published)" "round $round: events of a finished one"
    else
        interrupted=$((interrupted + 1))
        [ "$(accounted)" -le "$(published)" ] || is "$(accounted)" "at most $(published)" "round $round: events"
    fi
}

round=0
interrupted=0
while [ $round -lt "$rounds" ]; do
    rm -f counts ended
    record_behind -- sh -c "$programs/prog_count counts 2 300 33; echo \$? >ended; exit 33"
    kill_behind_the_end
    is_sound

    rm -f counts ended
    record_behind -- sh -c "$programs/prog_count counts 2 600000 33; echo \$? >ended; exit 33"
    hold_the_lock
    kill -USR1 "$(od -An -v -tu8 -j4088 -N8 counts | tr -d ' ')"
    kill_behind_the_end
    is $status 137 "round $round: the recorder's end"
    let_go
    is_sound
    round=$((round + 2))
done
[ $interrupted -ge $((rounds / 2)) ] || is $interrupted "at least $((rounds / 2))" "files that are not finished"
end_of_tests
