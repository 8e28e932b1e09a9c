#!/bin/sh
# Random trees of processes, against what each of them wrote down of itself.
. "$(dirname "$0")/lib.sh"

# A row of the log is matched by one of the table: the nth image of a pid that is no silent one
# between fork and exec. How a process ended may be unknown: kernels before 6.15 tell only while it
# is a zombie.
images=0
unknown=0
seed=1
while [ $seed -le "$rounds" ]; do
    rm -f log
    record -- "$programs/prog_tree" "$work/log" $seed 5
    finished
    sqlite3 -batch run.db "CREATE TABLE log(pid INT, events INT, ended TEXT, value INT)" ".separator |" ".import log log"
    match="l.pid = p.pid AND l.events = p.events AND (p.ended = 'unknown' OR p.ended = 'left running'
        OR (p.ended = l.ended AND coalesce(p.exit_code, p.signal, -1) = l.value))"
    is "$(ask "SELECT * FROM log l WHERE NOT EXISTS (SELECT 1 FROM process p WHERE $match)")" "" \
        "seed $seed: images without a row"
    is "$(ask "SELECT pid, events, ended, exit_code, signal FROM process p
        WHERE NOT EXISTS (SELECT 1 FROM log l WHERE $match)")" "" "seed $seed: rows without an image"
    is "$(ask 'SELECT count(*) FROM process')" "$(ask 'SELECT count(*) FROM log')" "seed $seed: how many"
    is "$(ask 'SELECT count(*) FROM allocation')" "$(ask 'SELECT sum(events) FROM log')" "seed $seed: blocks"
    is "$(ask "SELECT count(*) FROM process WHERE origin='root' OR parent IS NULL AND origin<>'exec'")" 1 \
        "seed $seed: one root, everybody else has a parent"
    is "$(ask "SELECT count(*) FROM process p JOIN process q ON q.id = p.parent
        WHERE q.start_ns > p.start_ns")" 0 "seed $seed: parents are older"
    images=$((images + $(ask 'SELECT count(*) FROM log')))
    unknown=$((unknown + $(ask "SELECT count(*) FROM process WHERE ended = 'unknown'")))
    [ $failures -eq 0 ] || break
    seed=$((seed + 1))
done
echo "$images images, the end of $unknown not known"
end_of_tests
