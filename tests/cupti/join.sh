#!/bin/sh
# join.sh TIDEMARK PROGRAM FOLDER ASKER: what CUPTI's callbacks tell of the driver and what a program
# tells of its blocks, in one recording: it says what prog_join's own account says, at every phase.
set -u
tidemark=$1 program=$2 folder=$3 asker=$4
. "$(dirname "$0")/../driver/lib.sh"
unset CUDA_INJECTION64_PATH TIDEMARK_KERNELS CUDA_HOME CUDA_PATH || :
export TIDEMARK_CUPTI="$folder/cupti/libcupti.so.13"

"$tidemark" record -o run.db -- "$program" "$folder/driver/libcuda.so.1" "$asker" >account 2>err ||
    { cat err; exit 1; }
is "$(wc -l <account)" 9 "lines of the account"

# The device is asked now and then only, and phases come faster: every line is right all the same.
while IFS=, read -r step phase allocated reserved outside; do
    got=$("$tidemark" ladder run.db "$step/$phase" --format csv | awk -F, '
        $3 == "allocated" || $3 == "reserved" { printf "%s ", $4 }
        $3 == "outside the allocator" && /libasker/ { sum += $5 }
        $3 == "unattributed" { printf "%d %s", sum, $5 }')
    is "$got" "$allocated $reserved $outside 0" "the ladder of $step/$phase"
    is "$(ask "SELECT reserved FROM phase_table WHERE step = $step AND phase = '$phase'")" \
        "$reserved" "reserved of $step/$phase"
done <account
is "$("$tidemark" ladder run.db end --format csv | grep -c '"context, other processes"')" 1 "the context"
is "$("$tidemark" peak run.db --ladder | grep -c '^device used')" 1 "the ladder in peak"
is "$("$tidemark" peak run.db | grep -c '^unattributed')" 0 "nothing is unattributed at the peak"

# A phase's sample is of the phase: it comes before its end.
is "$(ask "SELECT count(*) > 0 FROM sample WHERE what = 'device used'")" 1 "samples"
is "$(ask "SELECT count(*) FROM sample s WHERE what = 'device used' AND NOT EXISTS (SELECT 1 FROM phase
    WHERE kind <> 'other' AND begin_ns <= s.at_ns AND end_ns >= s.at_ns)
    AND at_ns < (SELECT max(end_ns) FROM phase WHERE name = 'empty cache')
    AND at_ns > (SELECT min(begin_ns) FROM phase WHERE name = 'forward')")" 0 "samples between phases"

# Rows of both sides are of one memory. What lived to the end of the program did not go with CUDA's end.
is "$(ask "SELECT count(*), sum(free_seq IS NULL) FROM segment")" "4,1" "segments"
is "$(ask "SELECT count(*) FROM segment s JOIN driver_memory m ON m.seq = s.seq AND m.size = s.size
    AND m.address = s.address AND m.heap = s.heap AND m.blocks = 1")" 4 "segments that are the driver's"
is "$(ask "SELECT count(*), sum(free_seq IS NULL), sum(blocks) FROM driver_memory WHERE kind = 'physical'")" \
    "6,0,6" "pages, gone when unmapped and released"
is "$(ask "SELECT count(*), sum(mapped) FROM driver_mapping")" "12,6" "mappings"
is "$(ask "SELECT count(*) FROM mapping")" 12 "pages of the heap"
is "$(ask "SELECT library, call, size FROM driver_allocations WHERE outside")" \
    "libasker.so,cuMemAlloc,12345" "what is outside"
is "$(ask "SELECT count(*) FROM anomaly")" 0 "anomalies"
is "$(ask "SELECT group_concat(kind || coalesce(name, '')) FROM device")" cuda "devices"
[ $failures -eq 0 ] && echo ok
[ $failures -eq 0 ]
