#!/bin/sh
# events.sh DUMP GUEST PROGRAM FOLDER ASKER: the events of a program over a driver and a CUPTI of our
# own, as they leave the guest: memory with its library, failed calls, samples, a forked child.
set -eu
dump=$1
guest=$2
program=$3
folder=$4
asker=$5

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
export CUDA_INJECTION64_PATH="$guest" TIDEMARK_CUPTI="$folder/cupti/libcupti.so.13"

# run ARGUMENTS: fills $work/events.
run()
{
    "$dump" "$guest" "$work/events" "$program" "$folder/driver/libcuda.so.1" "$@" ||
        { echo "FAIL the program: $?"; failed=1; }
}

# has WHAT COUNT PATTERN: so many events match.
has()
{
    got=$(grep -c "$3" "$work/events" || :)
    [ "$got" = "$2" ] && return
    echo "FAIL $1: $got events with $3, not $2"
    failed=1
}

run ask "$asker"
has "memory that was given" 3 '"kind": "driver_alloc"'
has "memory of the program" 2 '"kind": "driver_alloc".*"library": "prog_cuda"'
has "memory of a library" 1 '"kind": "driver_alloc".*"size": 12345.*"library": "libasker.so"'
has "its reason" 3 '"kind": "driver_alloc".*"name": "cuMemAlloc"'
has "the device" 3 '"kind": "driver_alloc".*"device": "cuda", "index": 0'
has "memory that was taken" 1 '"kind": "driver_free"'
has "samples" 2 '"kind": "sample".*"name": "device used"'
has "the source" 1 '"name": "cupti 130001: driver callbacks".*"a": 0'
has "losses" 1 '"lost": 0'
run fork
# What the child does with CUDA is nobody's: CUDA does not work there. It is recorded otherwise.
has "memory of the parent alone" 2 '"kind": "driver_alloc"'
has "phases of both" 2 '"kind": "phase_begin"'
TIDEMARK_STACKS=0 run ask "$asker"
has "no stacks, no libraries" 3 '"kind": "driver_alloc".*"library": ""'
[ "$failed" = 0 ] && echo "every event is there"
exit "$failed"
