#!/bin/sh
# plain.sh TIDEMARK PROGRAM: prog_rehearsed rehearsed. What the stand-in gave and took is in the recording as
# a driver's would be, and what a device has in use is accounted for to the byte.
set -u
tidemark=$1 program=$2
. "$(dirname "$0")/../driver/lib.sh"
unset CUDA_INJECTION64_PATH TIDEMARK_CUPTI TIDEMARK_KERNELS CUDA_HOME CUDA_PATH || :

rehearse()
{
    "$tidemark" rehearse --gpu a100-40gb --gpus 2 -o "$@" -- "$program" >account 2>err || { cat err; exit 1; }
}

rehearse run.db
is "$(ask "SELECT live, why_not FROM process")" "api, cupti 130001: driver callbacks," "sources"
is "$(ask "SELECT device, call, size / 1048576, free_ns IS NULL FROM driver_allocations
    WHERE kind = 'device' ORDER BY memory")" \
    "cuda:0,cudaMalloc,64,1
cuda:0,cudaMalloc,20,0
cuda:1,cudaMalloc,8,1" "memory of the devices"
is "$(ask "SELECT kind, call, size / 1048576, free_ns IS NULL FROM driver_allocations
    WHERE kind <> 'device' ORDER BY memory")" \
    "host,cudaMallocHost,3,1
physical,cuMemCreate,4,1
async,cudaMallocAsync,32,1
async,cudaMallocAsync,16,0" \
    "memory of other kinds"
is "$(ask "SELECT DISTINCT library FROM driver_allocations")" "$(basename "$program")" "who called"
is "$(ask "SELECT count(*) FROM anomaly")" 0 "anomalies"
is "$(sed -n 's/^heard //p' account)" 4 "calls that the program itself heard of"

# rung DEVICE NAME COLUMN: of the ladder at the end.
rung()
{
    "$tidemark" ladder run.db end --device "cuda:$1" --format csv |
        awk -F, -v name="$2" -v column="$3" '{ gsub("\"", "") } $3 == name { print $column }'
}

# Nothing is left over: a context of the profile's, the same on both, and what the program took.
while read -r device used; do
    [ "$device" = heard ] || is "$(rung "$device" "device used" 4)" "$used" "what cuda:$device has in use"
done <account
is "$(rung 0 unattributed 5)" 0 "what nobody told of on cuda:0"
is "$(rung 0 "from the driver" 5 | tr '\n' ' ')" "71303168 33554432 " "the driver's on cuda:0"
is "$(rung 1 "from the driver" 5)" 8388608 "the driver's on cuda:1"
is "$(rung 0 context 6) $(rung 1 context 6)" "438304768 438304768" "the contexts, 418 MiB by the profile"
is "$("$tidemark" info run.db | grep -c '^rehearsed')" 1 "info says that it was rehearsed"

rm -f run.db
rehearse run.db --no-cupti
is "$(ask "SELECT count(*) FROM driver_memory")" 0 "memory with --no-cupti"
is "$(ask "SELECT why_not FROM process")" "cupti: turned off" "why"
# What ended a run is said with its verdict.
ended() # VERDICT SIGNAL
{
    rm -f run.db
    "$tidemark" rehearse --gpu a100-40gb -o run.db -- sh -c "$2" sh "$program" >/dev/null 2>err
    is "$(tail -1 err)" "tidemark: $1" "the last line after: $2"
}
ended "not known whether it fits: no blocks were recorded on a100-40gb; the run was ended by SIGINT" 'kill -INT $$'
ended "not known whether it fits: no blocks were recorded on a100-40gb" 'exit 3'
[ $failures -eq 0 ] && echo ok
[ $failures -eq 0 ]
