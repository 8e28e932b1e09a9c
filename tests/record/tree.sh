#!/bin/sh
# Process trees: who was whose child, which image followed which, how each ended.
. "$(dirname "$0")/lib.sh"

# Eight children that execute another program, one of them twice in the same pid.
cat >many.sh <<END
i=0
while [ \$i -lt 8 ]; do
    if [ \$i -eq 3 ]; then
        "$story" alloc 1 exec "$story" alloc 2 exit 13 &
    else
        "$story" alloc \$i exit \$i &
    fi
    i=\$((i + 1))
done
wait
exit 21
END
record -- sh many.sh
is $status 21 "exit status of the tree"
finished
is "$(ask 'SELECT id, origin, ended, exit_code FROM process WHERE id=1')" "1|root|exit|21" "the root"
is "$(ask 'SELECT count(*) FROM process')" 10 "images"
is "$(ask 'SELECT count(DISTINCT pid) FROM process')" 9 "pids"
is "$(ask "SELECT count(*) FROM process WHERE origin='spawn' AND parent=1")" 8 "children of the root"
is "$(ask "SELECT a.ended, a.events, a.exit_code IS NULL, b.origin, b.ended, b.exit_code, b.events
    FROM process a JOIN process b ON b.pid=a.pid AND b.id>a.id")" "exec|1|1|exec|exit|13|2" \
    "one of them twice in the same pid"
is "$(ask "SELECT exit_code, events FROM process WHERE origin='spawn' AND ended='exit' ORDER BY 1")" \
    "$(printf '0|0\n1|1\n2|2\n4|4\n5|5\n6|6\n7|7')" "how the others ended"
is "$(ask "SELECT count(*) FROM process WHERE argv LIKE '%prog_story alloc 5 exit 5'")" 1 "argv"
is "$(ask 'SELECT count(*) FROM allocation a JOIN heap h ON h.id=a.heap
    JOIN process p ON p.id=h.process WHERE p.events>0')" 28 "blocks of all"

# Fork without exec: known from the first event of the child on.
record -- "$story" alloc 2 fork alloc 3 exit 9
is $status 0 "exit status of a program that forks"
is "$(ask 'SELECT id, parent, origin, ended, exit_code, events FROM process ORDER BY id')" \
    "$(printf '1||root|exit|0|2\n2|1|fork|exit|9|3')" "fork without exec"
is "$(ask "SELECT a.argv=b.argv FROM process a JOIN process b ON b.id=2 WHERE a.id=1")" 1 \
    "a forked child has its parent's arguments"

# Two forks, the first of them silent: the grandchild hangs on the nearest that is known.
record -- "$story" alloc 2 fork fork alloc 3 exit 9
is "$(ask 'SELECT id, parent, origin, events FROM process ORDER BY id')" \
    "$(printf '1||root|2\n2|1|fork|3')" "behind a silent fork"

# A child that never says anything has no row.
record -- "$story" alloc 2 fork sleep 10
is "$(ask 'SELECT count(*) FROM process')" 1 "a silent child"

# A child that is killed.
record -- "$story" alloc 1 fork alloc 2 raise 9
is "$(ask 'SELECT ended, signal, events FROM process WHERE id=2')" "signal|9|2" "a child that is killed"

# exec in the root.
record -- "$story" alloc 4 exec "$story" alloc 5 exit 8
is $status 8 "exit status after exec"
is "$(ask 'SELECT id, parent, origin, ended, exit_code, events FROM process ORDER BY id')" \
    "$(printf '1||root|exec||4\n2||exec|exit|8|5')" "exec in the root"

# A daemon that lives a little longer than the root, and is waited for.
record -- "$story" alloc 1 daemon sleep 100 alloc 6
is $status 0 "exit status with a daemon"
finished
is "$(ask "SELECT origin, ended, exit_code, events FROM process WHERE events=6")" "fork|exit|0|6" \
    "a daemonised grandchild"

# One that lives long: left running after two seconds, or not waited for at all. It is not over before
# a recorder that hardly gets to run has waited for so long.
record -- "$story" daemon alloc 1 sleep 60000
finished
is "$(ask "SELECT ended, exit_code IS NULL, events FROM process WHERE id=2")" "left running|1|1" \
    "a daemon that stays"
says "left running, and no longer recorded: $(ask 'SELECT pid FROM process WHERE id=2')"
kill "$(ask 'SELECT pid FROM process WHERE id=2')"
record -w root -- "$story" daemon alloc 1 sleep 4000
finished
is "$(ask "SELECT ended, exit_code FROM process WHERE id=1")" "exit|0" "--wait root"
record -w all -- "$story" daemon alloc 1 sleep 2600 alloc 1
finished
is "$(ask "SELECT ended, exit_code, events FROM process WHERE id=2")" "exit|0|2" "--wait all"

# More processes than descriptors: those without a pidfd are looked at from time to time.
(
    ulimit -n 64
    record -- "$story" spawn 60 "$story" alloc 1 sleep 300 alloc 1 exit 6
    echo $status >code
)
is "$(cat code)" 0 "exit status with few descriptors"
finished
is "$(ask "SELECT count(*) FROM process WHERE events=2 AND origin='spawn'")" 60 "children"
is "$(ask "SELECT count(*) > 10 FROM process WHERE ended='exit' AND exit_code=6")" 1 "ends seen by pidfd"
is "$(ask "SELECT count(*) FROM process WHERE ended NOT IN ('exit', 'unknown')")" 0 "ends seen at all"

# A thread that dies inside a phase, while the process lives on.
record -- "$story" begin forward thread sleep 8000 alloc 1 end
is "$(ask "SELECT name, end_ns<(SELECT end_ns FROM process) FROM phase
    WHERE name='abandoned'")" "abandoned|1" "a thread that dies inside a phase"

# A program that drops its privileges: said hello as root, asks for its ring as somebody else.
if [ "$(id -u)" = 0 ] && setpriv --reuid 65534 --clear-groups test -r "$guest" -a -x "$story"; then
    record -- setpriv --reuid 65534 --clear-groups "$story" alloc 3 exit 4
    is $status 4 "a program of another user"
    is "$(ask 'SELECT max(events) FROM process')" 3 "its events"
fi

# RANK and its like.
RANK=3 LOCAL_RANK=1 WORLD_SIZE=8 record -- "$story" alloc 1
is "$(ask 'SELECT rank, local_rank, world_size, host FROM process')" "3|1|8|$(uname -n)" "rank"
record -- "$story" alloc 1
is "$(ask 'SELECT rank IS NULL, local_rank IS NULL FROM process')" "1|1" "no rank"
end_of_tests
