#!/bin/sh
# record_seq2seq.sh TIDEMARK SEQ2SEQ [OPTION...]: records the sample and compares what
# `tidemark phases` says with the sample's own count, to the byte. Exit 0 same, 1 not, 99 broken.
set -eu
tidemark=$1
seq2seq=$2
shift 2
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT

"$tidemark" record -o "$folder/run.db" -- "$seq2seq" --csv "$@" >"$folder/printed" || {
    echo "record exited with $?" >&2
    exit 1
}
"$tidemark" phases "$folder/run.db" --format csv >"$folder/phases.csv" || {
    echo "phases exited with $?" >&2
    exit 1
}

# The sample's columns, found by their names in the title; only the phases that it marks itself.
awk -F, '
    { gsub(/"/, ""); sub(/\r$/, "") }
    NR == 1 {
        for (i = 1; i <= NF; i++)
            at[$i] = i
        split("step phase allocated max_allocated reserved max_reserved", wanted, " ")
        for (i = 1; i <= 6; i++)
            if (!(wanted[i] in at)) {
                print "no column " wanted[i] > "/dev/stderr"
                exit 1
            }
        next
    }
    $at["phase"] ~ /^(beginning|zero_grad|forward|loss|backward|optimizer)$/ {
        for (i = 1; i <= 6; i++)
            printf "%s%s", $at[wanted[i]], i < 6 ? "," : "\n"
    }' "$folder/phases.csv" >"$folder/recorded"

sed 1d "$folder/printed" | cut -d, -f1-6 >"$folder/own"
[ -s "$folder/own" ] || exit 99
if ! diff -u "$folder/own" "$folder/recorded" >&2; then
    echo "the recording (+) is not what the program counted (-)" >&2
    exit 1
fi
