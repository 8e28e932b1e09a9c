#!/bin/sh
# What the kernel says about the program's memory: limits, RSS, and a kill by its OOM killer.
. "$(dirname "$0")/lib.sh"

# value WHAT: the newest of the program's samples of that name.
value() {
    ask "SELECT value FROM sample WHERE what = '$1' AND process = (SELECT max(process) FROM sample)
         ORDER BY at_ns DESC LIMIT 1"
}

record -- sh -c "ulimit -v 4000000; exec \"$story\" alloc 3 sleep 300"
is $status 0 "a limit of address space"
is "$(value 'limit of address space')" 4096000000 "RLIMIT_AS"
is "$(value 'limit of data')" "" "no RLIMIT_DATA"
is "$(ask "SELECT count(*) > 0 AND min(value) > 100000 AND max(value) < 1 << 34 FROM sample
            WHERE what = 'RSS'")" 1 "RSS"
is "$(ask "SELECT count(*) FROM sample WHERE device IS NOT NULL")" 0 "of no device"
is "$(ask "SELECT count(*) FROM sample WHERE what = 'killed for memory'")" 0 "nobody was killed"

# SIGKILL by somebody is not one for memory.
record -- sh -c "\"$story\" alloc 3 sleep 300 raise 9"
is "$(grep -c 'OOM killer' err)" 0 "a SIGKILL of one's own"

# A group with a limit, where this machine lets us make one: version 1, then version 2.
group=
for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
    [ -z "$group" ] && mkdir "$root/tidemark-test-$$" 2>/dev/null && group=$root/tidemark-test-$$
    [ -n "$group" ] && [ ! -e "$group/memory.limit_in_bytes" ] && [ ! -e "$group/memory.max" ] &&
        rmdir "$group" 2>/dev/null && group=
done
if [ -z "$group" ]; then
    echo "no control group can be made here: a kill for memory was not tried"
    end_of_tests
fi
trap 'rmdir "$group"; rm -rf "$work"' EXIT
limit=memory.max
[ -e "$group/memory.limit_in_bytes" ] && limit=memory.limit_in_bytes
echo 33554432 >"$group/$limit" || { echo "no limit can be set"; end_of_tests; }
[ "$limit" = memory.max ] && echo 0 >"$group/memory.swap.max" 2>/dev/null
record -- sh -c "echo \$\$ >$group/cgroup.procs && exec \"$story\" alloc 3 sleep 300 touch 200"
is $status 137 "killed"
says "the kernel's OOM killer killed the process: the cgroup's limit is 32.0 MiB"
is "$(value 'killed for memory')" 1 "a kill"
is "$(value 'cgroup limit')" 33554432 "the limit"
end_of_tests
