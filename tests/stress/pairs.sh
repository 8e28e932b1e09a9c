#!/bin/sh
# pairs.sh PROG_PAIRS THREADS PAIRS RECORD...
# Many threads against a healthy recorder, RECORD with its options: nothing is lost, every free comes after
# its allocation, the totals are exact.
set -eu
program=$1 threads=$2 pairs=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
db=$folder/run.db

"$@" -o "$db" -- "$program" "$threads" "$pairs" >"$folder/out" 2>"$folder/err"
cat "$folder/out" "$folder/err"
read -r _ want _ bytes _ <"$folder/out"

ask() { sqlite3 "$db" "$1"; }
expect() {
    if [ "$2" != "$3" ]; then
        echo "FAILED: $1 is $2, expected $3"
        exit 1
    fi
    echo "ok: $1 is $2"
}
expect "integrity" "$(ask 'PRAGMA integrity_check')" ok
expect "rows of lost" "$(ask 'SELECT count(*) FROM lost')" 0
expect "rows of torn" "$(ask 'SELECT count(*) FROM torn')" 0
expect "rows of anomaly" "$(ask 'SELECT count(*) FROM anomaly')" 0
expect "allocations" "$(ask 'SELECT count(*) FROM allocation')" "$want"
expect "bytes" "$(ask 'SELECT sum(size) FROM allocation')" "$bytes"
expect "blocks that live on" "$(ask 'SELECT count(*) FROM allocation WHERE free_seq < 0')" 0
expect "frees before their allocation" \
    "$(ask 'SELECT count(*) FROM allocation WHERE free_seq <= seq OR life_ns < 0')" 0
expect "two frees with one number" \
    "$(ask 'SELECT count(*) - count(DISTINCT free_seq) FROM allocation')" 0
expect "events" "$(ask 'SELECT events FROM process WHERE id = 1')" $((2 * want + 2))
expect "allocated in the end" \
    "$(ask "SELECT allocated FROM phase_table WHERE phase = 'pairs'")" 0
expect "frees counted in the phase" \
    "$(ask "SELECT frees FROM phase_table WHERE phase = 'pairs'")" "$want"
