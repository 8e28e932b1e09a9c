#!/bin/sh
# record_tensors.sh TIDEMARK LIBRARY PROGRAM: a Python program whose tensors come from the library:
# each has the size that was asked for, its stream and its Python stack; segments, the refusal and
# the settings are there. LD_LIBRARY_PATH leads to the driver of the tests.
set -eu
tidemark=$1
library=$2
program=$3
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
failed=0

PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64 "$tidemark" record -o "$folder/run.db" -- \
    /usr/bin/env python3 "$program" "$library" 2> "$folder/said" || {
    cat "$folder/said"
    exit 1
}
# expect WHAT SQL ANSWER
expect()
{
    got=$("$tidemark" sql "$folder/run.db" --format csv "$2" | sed 1d | tr -d '"\r' | tr '\n' ' ')
    [ "$got" = "$3 " ] || {
        echo "$1: got $got, not $3"
        failed=1
    }
}
expect blocks "SELECT device, stream, size, requested FROM allocations ORDER BY allocation" \
    "cuda:0,0,1024,1000 cuda:0,32,3145728,3145728 cuda:0,32,3145728,3145728"
expect sites "SELECT count(*) FROM allocations WHERE site LIKE '%an_activation%'" 2
expect "the site of the weight" \
    "SELECT count(*) FROM allocations WHERE site LIKE '%a_weight%' AND requested = 1000" 1
expect living "SELECT requested FROM allocations WHERE free_seq IS NULL" 1000
expect segments "SELECT h.device, h.stream, s.size FROM segment s
    JOIN heap h ON h.id = s.heap ORDER BY s.seq" \
    "$("$tidemark" sql "$folder/run.db" --format csv "SELECT min(id) a, max(id) b FROM device
        WHERE kind = 'cuda'" | sed 1d | awk -F, '{ printf "%s,0,2097152 %s,32,20971520 %s,0,20971520",
        $1, $1, $2 }')"
expect refusal "SELECT asked FROM oom" $((5 << 30))
expect settings "SELECT DISTINCT key, value FROM setting ORDER BY key" \
    "alloc_conf,max_split_size_mb:64 allocator,tidemark waiting,1"
expect "active of every phase" "SELECT count(*) > 0 AND count(active) = count(*) FROM phase_device
    WHERE device IN (SELECT id FROM device WHERE kind = 'cuda')" 1
expect heaps "SELECT DISTINCT name FROM heap ORDER BY name" "pytorch pytorch pool"
expect losses "SELECT (SELECT count(*) FROM lost) + (SELECT count(*) FROM anomaly)" 0
grep -q "cuda:0 is out of memory" "$folder/said" || failed=1
[ "$failed" -eq 0 ] && echo "tensors as PyTorch would ask for them"
