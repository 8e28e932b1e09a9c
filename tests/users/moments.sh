#!/bin/sh
# moments.sh TIDEMARK PROGRAM PLUGIN HAVE_CXX: whatever the moment at which a program reports, and
# however it ends, the database has what the program wrote down of itself, and nothing else.
set -u
tidemark=$1
program=$2
plugin=$3
cxx=$4
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
failures=0
MOMENTS=$work/log
export MOMENTS

fail() {
    echo "FAIL $how: $1"
    sed 's/^/    /' "$2" | head -20
    failures=$((failures + 1))
}

ask() {
    sqlite3 -readonly -batch run.db "$1"
}

# empty QUERY WHAT: it has no rows.
empty() {
    ask "$1" > rows
    [ ! -s rows ] || fail "$2" rows
}

# Those that are too many for a line each: N reports, numbered from 0.
numbered="('handler', 'interrupted')"

check() {
    ask "SELECT p.pid, m.name, m.value FROM mark m JOIN process p ON p.id = m.process
        WHERE m.name NOT IN $numbered" | sort > got
    grep -v -e '|handlers|' -e '|interruptions|' log | sort > want
    cmp -s got want || { diff want got > differ; fail "marks" differ; }
    for pair in 'handler handlers' 'interrupted interruptions'; do
        want=$(sed -n "s/.*|${pair#* }|//p" log)
        got=$(ask "SELECT count(*) || ' ' || count(DISTINCT value) || ' ' || (max(value) + 1)
            FROM mark WHERE name = '${pair% *}'")
        [ "$got" = "$want $want $want" ] || { echo "$got, not $want" > differ; fail "${pair% *}" differ; }
    done
    empty "SELECT name, ended FROM phase WHERE kind = 'user' AND ended <> 'end'" "phases that did not end"
    # A child gives back what its parent's library was handed out.
    empty "SELECT kind, detail FROM anomaly WHERE detail IS NOT '1 after a fork'" "anomalies"
    empty "SELECT kind, n FROM lost UNION ALL SELECT why, 1 FROM torn" "lost"
    # Each mark has its block, inside its own phase: also where one report interrupts another.
    empty "CREATE TEMP TABLE f AS SELECT process, thread, name, begin_seq, end_seq FROM phase;
        CREATE INDEX temp.by_name ON f(process, thread, name, begin_seq);
        SELECT m.name, m.value FROM mark m WHERE NOT EXISTS (
            SELECT 1 FROM f CROSS JOIN allocation a ON a.seq BETWEEN f.begin_seq AND m.seq
                AND a.size = 64 + m.value AND a.free_seq BETWEEN m.seq AND f.end_seq
            WHERE f.process = m.process AND f.thread = m.thread AND f.name = m.name
                AND f.begin_seq = (SELECT max(g.begin_seq) FROM f g WHERE g.process = m.process
                    AND g.thread = m.thread AND g.name = m.name AND g.begin_seq < m.seq))" "blocks of marks"
    empty "SELECT (SELECT count(*) FROM mark) AS marks, count(*) AS blocks FROM allocation a
        JOIN heap h ON h.id = a.heap WHERE h.name = 'moments' HAVING marks <> blocks" "how many blocks"
    empty "SELECT a.seq FROM allocation a JOIN heap h ON h.id = a.heap
        WHERE h.name = 'moments' AND a.free_seq < 0" "blocks that live on"
}

for case in 'exit 0 exit' 'quick 3 exit' '_exit 4 exit' 'fork 0 exit' 'exec 0 exit' 'raise 143 signal' \
    'thread 5 exit'; do
    how=${case%% *}
    rest=${case#* }
    rm -f log run.db
    "$tidemark" record -o run.db -- "$program" "$plugin" "$how" > out 2> err
    status=$?
    [ $status = "${rest% *}" ] || { echo "exit status $status" >> err; fail "how it ended" err; continue; }
    [ "$(ask "SELECT value FROM meta WHERE key = 'finished'")" = 1 ] || fail "not finished" err
    [ "$(ask 'SELECT ended FROM process ORDER BY id DESC LIMIT 1')" = "${rest#* }" ] || fail "ended" err
    check
    # What must have been there, so that the log is no empty one.
    for name in constructor 'linked constructor' 'plugin destructor' 'end of a thread' \
        'without descriptors' 'after the jump'; do
        grep -q "|$name|" log || fail "no $name" log
    done
    if [ "$cxx" = 1 ]; then
        [ "$(grep -c '|thread_local object|' log)" = 8 ] || fail "objects of threads" log
        [ "$(ask "SELECT count(*) FROM phase WHERE name = 'throws' AND ended = 'end'")" = 6 ] ||
            fail "phases that threw" log
    fi
    processes=$(ask 'SELECT group_concat(origin) FROM process')
    case $how in
    fork) expected=root,fork ;;
    exec) expected=root,exec ;;
    *) expected=root ;;
    esac
    [ "$processes" = "$expected" ] || { echo "$processes" > differ; fail "processes" differ; }
done
[ $failures -eq 0 ] && echo ok
[ $failures -eq 0 ]
