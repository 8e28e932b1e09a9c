script -qec "tidemark export --to pprof train.db -o -" /dev/null | tr -d "\r"
