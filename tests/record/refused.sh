#!/bin/sh
# A sandbox that refuses one of the calls that the library makes: the program runs as without it, and the
# recording ends well, with all of its blocks or without any.
. "$(dirname "$0")/lib.sh"

"$programs/prog_refused" none >bare
[ $? = 4 ] || { echo "no filters of system calls here"; exit 77; }
for call in none socket connect sendmsg recvmsg sendto recvfrom getsockopt setsockopt mmap munmap lseek fcntl \
    openat read futex gettid getrandom; do
    record -- "$programs/prog_refused" $call
    is $status 4 "$call: exit status"
    is "$(cat out)" fine "$call: output"
    finished
    blocks=$(ask "SELECT count(*) FROM allocation")
    lost=$(ask "SELECT coalesce(sum(n), 0) FROM lost")
    [ "$blocks" = 20000 ] || [ "$blocks" = 0 ] || [ "$lost" -gt 0 ] || is "$blocks" 20000 "$call: blocks"
    [ "$call" != none ] || is "$blocks" 20000 "blocks"
done
end_of_tests
