#!/bin/sh
# `tidemark record --metrics`: what is shown is what the recording has in the end; where it cannot be
# shown nothing is started; the program inherits nothing of it.
tidemark=$3
. "$(dirname "$0")/lib.sh"
ask_http() { "$PYTHON" - "$@" <<'END'
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], headers={"Accept": sys.argv[2]})
answer = urllib.request.urlopen(request, timeout=60)
print(answer.headers["Content-Type"])
sys.stdout.write(answer.read().decode())
END
}
PYTHON=${4:-python3}

# run OPTIONS -- PROGRAM: as record.
run() {
    rm -f run.db run.db-wal run.db-shm
    "$tidemark" record -o run.db "$@" >out 2>err
    status=$?
}

# sample NAME: the one sample of that name, whatever its labels.
sample() {
    sed -n "s/^$1{[^}]*} //p" "${2:-m.prom}"
}

# The file at the end, and the recording.
run --metrics m.prom -- "$story" alloc 5 sleep 100
is $status 0 "status"
is "$(sample tidemark_up)" 0 "it is over"
is "$(sample tidemark_events_total)" "$(ask 'SELECT sum(events) FROM process')" "events"
is "$(sample tidemark_blocks_total)" "$(ask 'SELECT count(*) FROM allocation')" "blocks"
is "$(sample tidemark_max_allocated_bytes)" "$(ask 'SELECT max(allocated) FROM peak')" "the peak"
is "$(sample tidemark_lost_events_total)" 0 "lost"
is "$(ls -A | grep -c '^\.')" 0 "files that were left"
run --metrics m.prom -- "$story" alloc 5 raise 9
is $status 137 "a death by signal"
is "$(sample tidemark_up)" 0 "it is over, too"

# While it runs, from a port that was chosen.
rm -f run.db
"$tidemark" record -o run.db --metrics 127.0.0.1:0 -- sh -c "\"$story\" alloc 3 sleep 100; ls -l /proc/self/fd >fds; while [ ! -e go ]; do sleep 0.1; done" >out 2>err &
recorder=$!
wait_until test -s fds
wait_until grep -q 'metrics: http' err
url=$(sed -n 's/^tidemark: metrics: //p' err)
events() { ask_http "$url" 'text/plain' >m.txt && [ "$(sample tidemark_events_total m.txt)" -ge 3 ]; }
wait_until events
is "$(head -1 m.txt)" "text/plain; version=0.0.4; charset=utf-8" "the older form"
ask_http "$url" 'application/openmetrics-text; version=1.0.0' >m.txt
is "$(head -1 m.txt)" "application/openmetrics-text; version=1.0.0; charset=utf-8" "OpenMetrics"
is "$(tail -1 m.txt)" "# EOF" "its end"
is "$(grep -c socket fds)" 0 "sockets that the program has"
port=${url#http://127.0.0.1:}
port=${port%/metrics}
"$tidemark" record -o second.db --metrics "127.0.0.1:$port" -- touch started >out2 2>err2
is $? 3 "a port that is taken"
grep -q "another program listens at that port" err2 || is "$(cat err2)" "..." "what is said"
[ ! -e started ] && [ ! -e second.db ] || is there "not there" "a program that was started"
touch go
wait $recorder
is $? 0 "status"

# A Unix socket goes with its recording.
run --metrics unix:m.sock -- test -S m.sock
is $status 0 "the socket, while it runs"
[ ! -e m.sock ] || is there "not there" "the socket, afterwards"

# Nothing is started where metrics cannot go.
run --metrics 0.0.0.0:9400 -- touch started
is $status 2 "an address for all"
says "metrics are shown to this machine only: 127.0.0.1:9400"
echo mine >train.py
run --metrics train.py -- touch started
is $status 3 "a file of others"
is "$(cat train.py)" mine "it stays"
run --metrics nowhere/m.prom -- touch started
is $status 3 "no folder"
[ ! -e started ] && [ ! -e run.db ] || is there "not there" "a program that was started"
end_of_tests
