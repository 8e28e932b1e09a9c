# lib.sh - for the shell tests of this folder. They are started with the folder of the programs and
# the path of the guest: SCRIPT PROGRAMS GUEST [rounds]. Sourced; gives a folder to work in that goes
# away at the end, and a few words to check with.

set -u
programs=$1
guest=$2
rounds=${3:-20}
story=$programs/prog_story
failures=0
work=$(mktemp -d) || exit 99
cd "$work" || exit 99
trap 'rm -rf "$work"' EXIT

for tool in sqlite3 od awk; do
    command -v "$tool" >/dev/null || { echo "$tool is not installed"; exit 77; }
done

# record [OPTIONS] -- COMMAND ...: into run.db, messages into err, output into out, status in $status.
record() {
    rm -f run.db run.db-wal run.db-shm
    "$programs/record_driver" -o run.db -g "$guest" "$@" >out 2>err
    status=$?
}

# In the background: $recorder is its pid.
record_behind() {
    rm -f run.db run.db-wal run.db-shm out err
    "$programs/record_driver" -o run.db -g "$guest" "$@" >out 2>err &
    recorder=$!
}

wait_for_recorder() {
    wait "$recorder" 2>/dev/null
    status=$?
}

# wait_until COMMAND ...: true within ten minutes.
wait_until() {
    tries=0
    until "$@" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 30000 ] || return 1
        sleep 0.02
    done
}

ask() {
    sqlite3 -readonly -batch "${2:-run.db}" "$1"
}

# What the threads of prog_count have published, by its file `counts`.
published() {
    od -An -v -tu8 -N4032 counts | awk '{ for (i = 1; i <= NF; i++) sum += $i } END { print sum + 0 }'
}

# Events that are in the file, or known to be lost: of programs that allocate and free. A free whose
# allocation was lost is in the file as such.
accounted() {
    ask "SELECT (SELECT count(*) + coalesce(sum(free_seq >= 0), 0) FROM allocation)
        + (SELECT coalesce(sum(CAST(detail AS INTEGER)), 0) FROM anomaly
           WHERE kind = 'free without allocation' AND detail LIKE '% after a loss of events')
        + (SELECT coalesce(sum(n), 0) FROM lost)"
}

# children PID: theirs, but for the witness of a recorder (recorder/run/witness.h).
children() {
    for child in $(cat "/proc/$1/task/$1/children"); do
        [ "$(cat "/proc/$child/comm" 2>/dev/null)" = signal-witness ] || echo "$child"
    done
}

# is GOT WANT WHAT
is() {
    [ "$1" = "$2" ] && return
    echo "FAIL $3"
    echo "  want: $2"
    echo "  got:  $1"
    sed 's/^/  err:  /' err 2>/dev/null
    failures=$((failures + 1))
}

# says TEXT: the messages hold it.
says() {
    grep -q -- "$1" err || is "$(cat err)" "... $1 ..." "what was said"
}

whole() {
    is "$(ask 'PRAGMA integrity_check' "${1:-run.db}")" ok "integrity of ${1:-run.db}"
}

finished() {
    whole
    is "$(ask "SELECT value FROM meta WHERE key='finished'")" 1 "meta.finished"
    [ ! -e run.db-wal ] || is "there" "not there" "run.db-wal"
}

end_of_tests() {
    [ $failures -eq 0 ] && echo "ok"
    [ $failures -eq 0 ]
    exit
}
