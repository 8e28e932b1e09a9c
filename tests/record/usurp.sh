#!/bin/sh
# The recorder has ended, and another user listens under its name. A process that the program left running,
# and one that it starts then, come to him, and tell him nothing: they go on unrecorded.
. "$(dirname "$0")/lib.sh"

"$story" user 65534 exit 0 || { echo "only root can be another user"; exit 77; }
cat >later.sh <<'END'
until [ -e bound ]; do sleep 0.02; done
"$1" alloc 3 fork alloc 2 exit 0
echo $? >late
END
cat >program.sh <<'END'
printf '%s\n' "$TIDEMARK_SOCKET" >name
"$1" alloc 5 exit 0
setsid sh later.sh "$1" >later.out 2>&1 </dev/null &
END
record -w root -- sh program.sh "$story"
is $status 0 "exit status"
is "$(ask 'SELECT sum(events) FROM process')" 5 "events"
"$programs/prog_usurp" 65534 "$(cat name)" >heard &
usurper=$!
wait_until grep -q bound heard
touch bound
wait_until test -s late
kill -9 $usurper
is "$(cat late)" 0 "what ran later"
[ "$(grep -c heard heard)" -ge 3 ] || is "$(cat heard)" "bound, three or more heard" "who came"
is "$(grep heard heard | sort -u)" "heard 0" "what they said, in bytes"
end_of_tests
