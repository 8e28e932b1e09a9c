#!/bin/sh
# Processes that reached the recorder, or could not, and are not in the recording: counted, with the
# reason, and nobody says that nothing was lost.
. "$(dirname "$0")/lib.sh"

claims_nothing() {
    is "$(grep -c 'nothing was lost\|uses neither' err)" 0 "claims, $1"
}

# A ring that is handed over and not used.
record -- "$programs/prog_rude" unused
is $status 0 "a program that does not use its ring"
says "1 process could not be recorded: its ring was handed over, and nothing came through it"
says "1 process could not be recorded; the others lost no event"
claims_nothing "an unused ring"
is "$(ask "SELECT why_not LIKE 'its ring was handed over%', live IS NULL, events FROM process")" \
    "1|1|0" "the row of an unused ring"
finished

# Killed between the ring and the first event: perhaps nothing is missing. A sandbox kills by SIGSYS (31).
record -- "$programs/prog_rude" unused 9
says "1 process ended by a signal before the first event"
says "processes may be missing; the others lost no event"
is "$(grep -c 'could not be recorded' err)" 0 "what is known of a killed one"
is "$(grep -c "nothing was lost" err)" 0 "claims, a killed one"
record -- "$programs/prog_rude" unused 31
says "1 process could not be recorded: its ring was handed over, and nothing came through it"

record -- sh -c "exec 3>&-; ulimit -n 4; exec $story alloc 5 exit 3" # fd 3 is all that is left
is $status 3 "a program without descriptors"
is "$(ask 'SELECT sum(events) FROM process')" 0 "its events"
says "1 process could not be recorded: .*RLIMIT_NOFILE"
claims_nothing "no descriptors"

is "$(ask "SELECT value FROM overhead WHERE what='processes not recorded'")" 1 "the count in the file"

# The others are recorded, and said to be.
record -- sh -c "$programs/prog_rude unused; $story alloc 5; exit 2"
is $status 2 "one of two"
says "1 process could not be recorded; the others lost no event"
is "$(ask 'SELECT sum(events) FROM process')" 5 "events of the other"

# No library, and why.
rm -f run.db
"$programs/record_driver" -o run.db -- "$story" alloc 1 exit 4 >out 2>err
is $? 4 "without a library"
says "libtidemark.so was not found beside the command: name it in TIDEMARK_GUEST"
rm -f run.db
TIDEMARK_GUEST=/no/such.so "$programs/record_driver" -o run.db -- "$story" exit 4 >out 2>err
says "TIDEMARK_GUEST names no file that can be read: /no/such.so"
if unshare -rm sh -c 'mount -t tmpfs none /proc' 2>/dev/null; then
    rm -f run.db
    unshare -rm sh -c "mount -t tmpfs none /proc && exec $programs/record_driver -o run.db -- \
        $story exit 4" >out 2>err
    says "which is not mounted"
fi

# In a network namespace of its own, where the name leads nowhere: by the door (recorder/run/door.h).
if [ "$(id -u)" = 0 ] && unshare -n true 2>/dev/null; then
    record -- unshare -n "$story" alloc 3 exit 6
    is $status 6 "exit status in another network namespace"
    is "$(ask 'SELECT sum(events) FROM process')" 3 "events in another network namespace"
    says "nothing was lost"
fi

# Too few descriptors for the recorder itself.
rm -f run.db
(ulimit -n 12 && exec "$programs/record_driver" -o run.db -g "$guest" -- sh -c 'echo ran >ran') \
    >out 2>err
is $? 3 "twelve descriptors"
says "cannot .*[tT]oo many open files"
is "$(ls ran run.db* 2>/dev/null)" "" "nothing ran, nothing is left"

# A daemon of root's program that becomes another user is heard by the key in its environment, which
# other users cannot read. Without it, it is nobody's.
if [ "$(id -u)" = 0 ]; then
    record -w all -- "$story" alloc 2 daemon user 65534 alloc 3 sleep 100
    is "$(ask 'SELECT sum(events) FROM process')" 5 "events of a daemon that is another user"
    says "nothing was lost"
    record -- sh -c "TIDEMARK_KEY=a-guess exec $story alloc 2 daemon user 65534 alloc 3 sleep 100"
    is "$(ask 'SELECT sum(events) FROM process')" 2 "events without the key"
    says "1 process could not be recorded: of another user, and not known to belong to the program"
    claims_nothing "a stranger"
fi
end_of_tests
