#!/bin/sh
# Other users of the machine connect to the recorder as fast as they can (their queue is always full), while
# the program starts processes: all of them are recorded, and nothing is lost.
. "$(dirname "$0")/lib.sh"

"$story" user 65534 exit 0 || { echo "only root can be another user"; exit 77; }
cat >program.sh <<'END'
printf '%s\n' "$TIDEMARK_SOCKET" >name.new && mv name.new name
until [ -e begun ]; do sleep 0.02; done
i=0
while [ $i -lt 40 ]; do
    "$1" alloc 3 exit 0
    i=$((i + 1))
done
"$1" alloc 1 spawn 20 "$1" alloc 4 exit 0
exit 7
END
record_behind -- sh program.sh "$story"
wait_until test -s name
flooders=
for user in 65534 65533 65532; do
    "$programs/prog_flood" $user "$(cat name)" >begun.$user &
    flooders="$flooders $!"
done
for user in 65534 65533 65532; do
    wait_until test -s begun.$user
done
touch begun
wait_for_recorder
kill -9 $flooders
is $status 7 "exit status"
finished
is "$(ask 'SELECT count(*), sum(events) FROM process WHERE events > 0')" "61|201" "processes, their events"
is "$(ask 'SELECT coalesce(sum(n), 0) FROM lost')" 0 "lost"
says "the others lost no event"
end_of_tests
