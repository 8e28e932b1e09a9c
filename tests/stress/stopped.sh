#!/bin/sh
# stopped.sh TIDEMARK PROG_PAIRS - the recorder stands still for a while (SIGSTOP): the program goes into
# drop mode and on, the loss is a fact, every report says from where it is approximate.
set -eu
tidemark=$1 program=$2
folder=$(mktemp -d)
recorder=
trap 'kill -CONT $recorder 2>/dev/null && touch "$folder/enough" && wait $recorder; rm -rf "$folder"' EXIT
db=$folder/run.db

"$tidemark" record -o "$db" -- "$program" 4 1000 "$folder/enough" \
    >"$folder/out" 2>"$folder/err" &
recorder=$!

# until COMMAND...: it comes true within ten minutes.
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 12000 ] || { echo "FAILED: never: $*"; exit 1; }
        sleep 0.05
    done
}
has_rows() { # of TABLE
    [ "$(sqlite3 -readonly "$db" "SELECT count(*) > 0 FROM $1" 2>/dev/null)" = 1 ]
}
pairs() {
    cat "$folder/enough.done" 2>/dev/null | grep . || echo 0
}
# More than the ring holds, whatever was in it.
went_on() {
    [ "$(pairs)" -gt $((before + 70000)) ]
}
until_true has_rows allocation
kill -STOP $recorder
before=$(pairs)
until_true went_on
kill -CONT $recorder
until_true has_rows lost
touch "$folder/enough"
wait $recorder
cat "$folder/out" "$folder/err"
read -r _ want _ _ _ longest <"$folder/out"

ask() { sqlite3 "$db" "$1"; }
fail() {
    echo "FAILED: $1"
    exit 1
}
[ "$(ask 'PRAGMA integrity_check')" = ok ] || fail "the database is damaged"
lost=$(ask "SELECT coalesce(sum(n), 0) FROM lost")
[ "$lost" -gt 0 ] || fail "nothing was lost although the recorder stood still"
[ "$(ask 'SELECT count(*) FROM lost WHERE first_seq > last_seq OR first_ns > last_ns')" = 0 ] ||
    fail "a loss that ends before it begins"
stored=$(ask "SELECT events FROM process WHERE id = 1")
[ $((stored + lost)) -eq $((2 * want + 2)) ] ||
    fail "stored $stored and lost $lost are not the $((2 * want + 2)) events of the program"
waits=$(ask "SELECT value FROM overhead WHERE what LIKE '%longest%wait%' AND process = 1")
[ "$waits" -ge 100000000 ] || fail "the longest wait, $waits ns, is not known"
for report in phases peak info; do
    "$tidemark" $report "$db" >"$folder/$report"
    grep -qi "approximate from" "$folder/$report" || fail "$report does not say that it is approximate"
    "$tidemark" $report "$db" --format json | grep -qi "approximate from" ||
        fail "$report --format json does not say so"
done
grep -qi lost "$folder/err" || fail "the summary does not tell of the loss"
echo "lost $lost of $((2 * want + 2)); the longest call of the program took $longest us"
