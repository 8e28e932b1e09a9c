#!/bin/sh
# Children of a program whose threads are inventing names: each number that was given out before a fork
# means the same in the child, in its children, and when their parents are gone.
. "$(dirname "$0")/lib.sh"

# check FORKS DEPTH: each child reports a block for each ancestor and one of its own.
check() {
    is $status 0 "exit status"
    finished
    is "$(ask 'SELECT count(*) FROM process')" $((1 + $1 * ($2 + 1))) "processes"
    is "$(ask 'SELECT count(*) FROM allocation')" $((1 + $1 * ($2 + 1) * ($2 + 4) / 2)) "blocks"
    named="allocation a LEFT JOIN site i ON i.site = a.site AND i.depth = 0
        LEFT JOIN frame f ON f.id = i.frame LEFT JOIN string s ON s.id = f.function"
    is "$(ask "SELECT a.size, f.line, s.text FROM $named WHERE s.text <> 'line_' || a.size OR f.line <> a.size
        LIMIT 5")" "" "blocks at another's site"
    # On a busy machine a name can wait too long for the threads: it is refused, and counted.
    is "$(ask "SELECT count(*) <= (SELECT ifnull(sum(value), 0) FROM overhead WHERE what LIKE 'definitions refused%')
        * $(($2 + 2)) FROM $named WHERE s.text IS NULL")" 1 "blocks without a name"
    is "$(ask 'SELECT count(*) FROM anomaly')" 0 "anomalies"
    is "$(ask 'SELECT count(*) FROM lost')" 0 "losses"
    is "$(ask 'SELECT count(*) FROM process p WHERE (SELECT count(*) FROM heap h WHERE h.process = p.id) <> 1')" 0 \
        "a heap of each"
}

record -- "$programs/prog_forks" 30 3 0
check 30 0
record -- "$programs/prog_forks" 3 2 6
check 3 6
# Numbers are continued, not defined again: a child's own arena holds its own names alone.
is "$(ask "SELECT max(o.value) < 4096 FROM overhead o JOIN process p ON p.id = o.process
    WHERE o.what = 'arena used' AND p.origin = 'fork' AND p.parent = 1")" 1 "what children define"
end_of_tests
