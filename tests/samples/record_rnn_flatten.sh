#!/bin/sh
# record_rnn_flatten.sh TIDEMARK RNN_FLATTEN lstm|gru: a recording shows what the packing costs: at
# the peak, one copy of all weights for each call in flight, each of the packed size, tagged; none
# after flatten_parameters(); and the rows are those that the program printed.
set -eu
tidemark=$1
sample=$2
cell=$3
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
cd "$folder"

set -- --calls=3 --layers=2 --input=300 --hidden=200 --batch=16 --length=60
case $cell in
lstm) gates=4 ;;
gru) gates=3 && set -- "$@" --gru ;;
*) exit 99 ;;
esac
# Both directions; the second layer sees both outputs of the first.
packed=$((4 * 2 * gates * 200 * (300 + 200 + 2 + 2 * 200 + 200 + 2)))

fail()
{
    echo "$1" >&2
    exit 1
}
ask()
{
    "$tidemark" sql "$1.db" --format csv "$(echo "$2" | tr "\n" " ")" | sed 1d | tr -d '"\r'
}
sh "$here/record_seq2seq.sh" "$tidemark" "$sample" "$@" 2> errors ||
    fail "the rows: $(cat errors)"

"$tidemark" record -o scattered.db -- "$sample" "$@" > printed
"$tidemark" record -o flat.db -- "$sample" "$@" --flatten > /dev/null
grep -q "^simulated: the packed weights are .*: 3, " printed || fail "$(cat printed)"

at_peak="SELECT count(*) || ' ' || coalesce(min(a.requested), 0) || ' ' ||
                coalesce(max(a.requested), 0)
           FROM live_at_peak p JOIN allocations a ON a.allocation = p.allocation
          WHERE a.tag = 'packed weights'"
found=$(ask scattered "$at_peak")
[ "$found" = "3 $packed $packed" ] || fail "scattered, at the peak: $found, not 3 of $packed"
found=$(ask flat "$at_peak")
[ "$found" = "0 0 0" ] || fail "flat, at the peak: $found"

# Born in forward, freed in backward of the same step; where they were asked for is known.
found=$(ask scattered "SELECT DISTINCT phase || ' ' || freed_phase || ' ' || (freed_step - step)
                         FROM allocations WHERE tag = 'packed weights'")
[ "$found" = "forward backward 0" ] || fail "the life of the copies: $found"
found=$(ask scattered "SELECT count(*) FROM live_at_peak p JOIN allocations a
                           ON a.allocation = p.allocation
                        WHERE a.tag = 'packed weights' AND p.site LIKE '%pack_weights%'")
[ "$found" = 3 ] || fail "copies with the site of the packing: $found"

# What it costs, in requested bytes: the peak's blocks of both runs.
sum="SELECT sum(a.requested) FROM live_at_peak p JOIN allocations a ON a.allocation = p.allocation"
found=$(($(ask scattered "$sum") - $(ask flat "$sum")))
[ "$found" -eq $((3 * packed)) ] || fail "the peaks differ by $found, not $((3 * packed))"
echo "3 copies of $packed bytes at the peak, and none when flat"
