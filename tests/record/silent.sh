#!/bin/sh
# Programs that make it hard: they close everything, clear everything, cannot load the library.
. "$(dirname "$0")/lib.sh"

record -- "$story" close alloc 5 close alloc 5 exit 3
is $status 3 "a program that closes all descriptors"
is "$(ask 'SELECT events FROM process')" 10 "its events"

# Little memory for data: what the library needs for itself is no part of it before it is used.
record -- sh -c "ulimit -d 600; exec $story alloc 5 exit 3"
is $status 3 "a program with little memory for data"
is "$(ask 'SELECT max(events) FROM process')" 5 "its events"

record -- "$story" clear alloc 4 exec /bin/sh -c 'exit 2'
is $status 2 "a program that clears its environment"
is "$(ask 'SELECT count(*), sum(events) FROM process')" "1|4" "its events, its image"

record -- "$programs/prog_static" alloc 5 exit 6
is $status 6 "a static program"
finished
is "$(ask 'SELECT id, origin, ended, exit_code, live IS NULL FROM process')" "1|root|exit|6|1" \
    "the row of a static program"
is "$(ask "SELECT why_not LIKE '%linked statically' FROM process")" 1 "why it is silent"
says "nothing was recorded: the program itself did not take part: .*prog_static is linked statically"
is "$(grep -c 'nothing was lost\|no block was' err)" 0 "what else is said of nothing"

# A static program that starts one that can be recorded.
record -- "$programs/prog_static" spawn 1 "$story" alloc 2
is "$(ask 'SELECT id, origin, parent, events FROM process ORDER BY id')" \
    "$(printf '1|root||0\n2|spawn|1|2')" "the child of a static program"
record -- "$programs/prog_static" exec "$story" alloc 2 exit 5
is $status 5 "a static program that becomes another"
is "$(ask "SELECT sum(events), max(exit_code) FROM process")" "2|5" "what it became"

record -- env -i "$story" alloc 2 exit 1
is $status 1 "env -i"
finished
is "$(ask "SELECT live IS NULL, why_not LIKE 'it %become% which did not say hello%', exit_code, events
    FROM process")" "1|1|1|0" "the row of env -i"
says "the program itself did not take part: it .*become* .*prog_story, which did not say hello"
record -- env -i "$story" sleep 4000
is "$(ask "SELECT why_not LIKE 'it became /%/prog_story, which did not say hello%' FROM process")" 1 \
    "env -i, seen while it runs"
record -- sh -c "exec env -i S=\$TIDEMARK_SOCKET P=\$LD_PRELOAD sh -c \"sleep 1.4
    TIDEMARK_SOCKET=\\\$S LD_PRELOAD=\\\$P exec $story alloc 1\""
is "$(ask "SELECT max(events), count(why_not) FROM process")" "1|0" "one that finds back to the library"
record -- env A=1 "$story" exit 1
is "$(ask "SELECT count(*) FROM process WHERE why_not LIKE '%became%'")" 0 "env that keeps the rest"
printf '#!/bin/sh\nsleep 1.2\n' >script
chmod 755 script
record -- ./script
is "$(ask 'SELECT count(*) FROM process WHERE why_not IS NOT NULL')" 0 "a script is what it is"

if command -v python3 >/dev/null; then
    record -- python3 -c "
import subprocess, sys
sys.exit(subprocess.run(['$story', 'alloc', '7', 'exit', '12'], close_fds=True).returncode)"
    is $status 12 "close_fds"
    is "$(ask 'SELECT max(events) FROM process')" 7 "events with close_fds"
fi

# A library that is none: the program runs, and it is said.
echo "not a library" >broken.so
rm -f run.db
"$programs/record_driver" -o run.db -g "$work/broken.so" -- "$story" alloc 5 exit 4 >out 2>err
is $? 4 "a broken library"
says "warning: the program runs unrecorded: .*broken.so cannot be loaded: file too short; install"
says "nothing was recorded: libtidemark.so was not loaded into the program: .*broken.so cannot be"
is "$(grep -c 'nothing was lost\|no block was' err)" 0 "what else is said of a broken library"
finished
is "$(ask 'SELECT id, origin, ended, events FROM process')" "1|root|exit|0" "a row all the same"
rm -f run.db
"$programs/record_driver" -o run.db -g "$work/missing.so" -- "$story" exit 4 >out 2>err
is $? 4 "a missing library"
says "No such file"

# One that only a process of another user cannot load: the loader says so, and leaves it out.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    mkdir -m 700 ours
    cp "$guest" ours/guest.so
    chmod 755 "$work"
    rm -f run.db
    "$programs/record_driver" -o run.db -g "$work/ours/guest.so" -- setpriv --reuid 65534 \
        --clear-groups sh -c 'exit 6' >out 2>err
    is $? 6 "a library that another user may not read"
    says "nothing was recorded: the program itself did not take part: it .*bec[ao]me"
    rm -f run.db
    "$programs/record_driver" -o run.db -g "$work/ours/guest.so" -- sh -c \
        'setpriv --reuid 65534 --clear-groups sleep 1.5; exit 7' >out 2>err
    is $? 7 "the same of what it started"
    says "nothing was recorded: process 2: it became .*sleep, which did not say hello"
fi

# A ring of 256 MiB that does not fit into the memory we may have.
(
    ulimit -v 200000
    record -b 22 -- "$story" alloc 5 exit 3
    echo $status >code
)
is "$(cat code)" 3 "a ring that cannot be made"
finished
is "$(ask 'SELECT live IS NULL, why_not, events FROM process')" \
    "1|no ring could be made for it: out of memory|0" "why it has none"
says "1 process could not be recorded: no ring could be made for it: out of memory"

# No room for the names that the program gives.
words=
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
    words="$words begin $(printf '%0250d' $n) end"
done
record -a 1024 -- "$story" $words alloc 1 exit 3
is $status 3 "definitions that find no room"
finished
refused=$(ask "SELECT value FROM overhead WHERE process=1 AND what LIKE 'definitions refused%full'")
is "$([ "${refused:-0}" -gt 3 ] && echo many)" many "definitions refused"
is "$(ask "SELECT count(*), max(detail LIKE '$refused names and call stacks%') FROM anomaly
    WHERE kind='definitions full'" | sed 's/^[12]|/n|/')" "n|1" "definitions full"
says "$refused names and call stacks found no room in memory"

# An LD_PRELOAD that was there stays.
LD_PRELOAD=$guest record -- sh -c 'echo "$LD_PRELOAD"'
is "$(cat out)" "$guest:$guest" "LD_PRELOAD"
end_of_tests
