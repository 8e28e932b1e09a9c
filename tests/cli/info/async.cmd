# Every report says that nothing of CUDA's allocator was heard, once; of the host nobody is told so.
db=$FIXTURES/async.db
for report in info peak phases timeline leaks fit frag ladder check; do
    printf '%s: ' "$report"
    [ $report = check ] && set -- --max-peak 1GiB
    tidemark "$report" "$db" --process 1 "$@" 2>&1 | grep cudaMallocAsync | grep -v '^ *1  *alloc'
    echo
done
tidemark phases "$db" | grep hooks
tidemark phases "$db" --process 3 | grep -c hooks
tidemark phases "$db" --device cpu | grep -c hooks
tidemark phases "$db" --process 2 --format json | grep hooks
true
