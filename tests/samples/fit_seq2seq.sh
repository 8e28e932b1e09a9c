#!/bin/sh
# fit_seq2seq.sh TIDEMARK SEQ2SEQ: the sample's heap has a policy of its own, and says so: `tidemark
# fit` does not hold its addresses against PyTorch's. Exit 0 so, 1 not, 99 broken.
set -eu
tidemark=$1
seq2seq=$2
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT

"$tidemark" record -o "$folder/run.db" -- "$seq2seq" --batch=3 --length=7 --vocab=99 >/dev/null || {
    echo "record exited with $?" >&2
    exit 1
}
"$tidemark" fit "$folder/run.db" >"$folder/fit" || {
    echo "fit exited with $?" >&2
    exit 1
}
if ! grep -q '^no addresses are compared: samples/c/heap.c' "$folder/fit" ||
    grep -q '^as recorded' "$folder/fit"; then
    cat "$folder/fit" >&2
    exit 1
fi
