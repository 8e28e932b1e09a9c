#!/bin/sh
# record_counters.sh TIDEMARK PROGRAM [CONFIG]: what is stored at the end of each phase is what the
# allocator counted, to the byte: allocated, active, reserved, inactive split, highest allocated.
# Exit 0 same, 1 not, 99 broken.
set -eu
tidemark=$1
program=$2
shift 2
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT

"$tidemark" record -o "$folder/run.db" -- "$program" "$@" > "$folder/own" || {
    echo "record exited with $?" >&2
    exit 1
}
ask()
{
    "$tidemark" sql "$folder/run.db" --format csv "$(echo "$1" | tr "\n" " ")" | sed 1d | tr -d '"\r'
}
# PyTorch's count of inactive splits leaves expandable segments out.
case ${1:-} in
*expandable_segments:True*) split=0 ;;
*) split=f.inactive_split ;;
esac
# Active is known from the first free that waits.
ask "SELECT f.step, f.phase, f.allocated, coalesce(f.active, f.allocated), f.reserved, $split,
            t.max_allocated
       FROM fragmentation f
       JOIN phase_table t ON t.process = f.process AND t.device = f.device AND t.step = f.step
                         AND t.phase = f.phase
      WHERE f.phase IN ('forward', 'backward', 'optimizer') ORDER BY f.end_ns" > "$folder/recorded"
[ -s "$folder/own" ] || exit 99
if ! diff -u "$folder/own" "$folder/recorded" >&2; then
    echo "the recording (+) is not what the allocator counted (-)" >&2
    exit 1
fi

# Nothing is left, nothing was lost, and nothing contradicts itself.
[ "$(ask "SELECT (SELECT count(*) FROM allocations WHERE free_seq IS NULL) || ' ' ||
                 (SELECT count(*) FROM anomaly) || ' ' || (SELECT count(*) FROM lost)")" = "0 0 0" ] || {
    echo "blocks live on, or the recording has anomalies or losses:" >&2
    ask "SELECT * FROM anomaly" >&2
    exit 1
}
# Every block has the size that was asked for.
[ "$(ask "SELECT count(*) FROM allocation WHERE requested IS NULL OR requested > size")" = 0 ] || exit 1
# And doing it again from the recording gives every block its address, and every segment its size.
"$tidemark" fit "$folder/run.db" --format json > "$folder/fit"
grep -q '"address_match": 1.0, "segment_match": 1.0' "$folder/fit" || {
    cat "$folder/fit" >&2
    exit 1
}
echo "$(wc -l < "$folder/own") phases as the allocator counted them"
