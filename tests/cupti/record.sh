#!/bin/sh
# record.sh TIDEMARK PROGRAM FOLDER: a program over a driver and a CUPTI of our own, recorded. FOLDER
# has cupti/, driver/, stub/, runtime/. What `info` says of CUDA is one line in each case.
set -eu
tidemark=$1
program=$2
folder=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0
unset CUDA_INJECTION64_PATH TIDEMARK_CUPTI TIDEMARK_KERNELS CUDA_HOME CUDA_PATH || :

# said COLUMN: what the first process has of CUPTI in this column, one line each.
said()
{
    between=';'
    [ "$1" = why_not ] || between=','
    "$tidemark" sql --format csv run.db "SELECT $1 FROM process WHERE id = 1" | sed 1d |
        tr -d '"' | tr "$between" '\n' | sed 's/^ *//' | grep '^cupti' || :
}

# expect WHAT WANT GOT
expect()
{
    [ "$2" = "$3" ] && return
    echo "FAIL $1"
    echo "  want: $2"
    echo "  got:  $3"
    failed=1
}

# record WHAT LIVE WHY_NOT [OPTIONS] -- ARGUMENTS: the program's exit status is to be 0.
record()
{
    what=$1 live=$2 why_not=$3
    shift 3
    rm -f run.db
    "$tidemark" record -o run.db "$@" > out 2> err || { echo "FAIL $what: status $?"; cat err; failed=1; }
    expect "$what: live" "$live" "$(said live)"
    expect "$what: why not" "$why_not" "$(said why_not)"
    "$tidemark" info run.db > info || { echo "FAIL $what: info"; failed=1; }
    if [ -n "$why_not" ]; then
        expect "$what: lines of info" 1 "$(sed '/^Gaps/,$d' info | grep -c 'cupti[ :][^/]')"
    fi
}

callbacks='cupti 130001: driver callbacks'
export TIDEMARK_CUPTI="$folder/cupti/libcupti.so.13"
record "a driver" "$callbacks" "" -- "$program" "$folder/driver/libcuda.so.1"
record "a fork" "$callbacks" "" -- "$program" "$folder/driver/libcuda.so.1" fork
record "a fatal error" "$callbacks" "cupti: ended by a fatal error of CUDA's" \
    -- "$program" "$folder/driver/libcuda.so.1" fatal
expect "a fatal error: gaps" "cupti,a fatal error of CUDA's,1" "$("$tidemark" sql --format csv run.db \
    'SELECT source, why, end_ns IS NULL FROM gap' | sed 1d | tr -d '"')"
"$tidemark" ladder run.db end > ladder 2>&1 || { echo "FAIL a fatal error: ladder"; cat ladder; failed=1; }
grep -q "CUPTI gap from .* to the end: a fatal error of CUDA's$" ladder ||
    { echo "FAIL a fatal error: ladder does not say it"; cat ladder; failed=1; }
FAKE_CUPTI_SUBSCRIBE=39 record "another tool" "" \
    "cupti 130001: held by another tool, CUPTI for the other one" -- "$program" "$folder/driver/libcuda.so.1"
record "loaded only" "" "cupti: the program did not start CUDA" -- "$program" "$folder/driver/libcuda.so.1" load
record "--no-cupti" "" "cupti: turned off" --no-cupti -- "$program" "$folder/driver/libcuda.so.1"
CUDA_INJECTION64_PATH=/opt/nsys/libToolsInjection64.so \
    record "a foreign injection" "" \
    "cupti: another tool is injected into CUDA, and left alone: /opt/nsys/libToolsInjection64.so" -- "$program" "$folder/driver/libcuda.so.1"
record "the stub" "" "cupti: the libcuda.so.1 that was found is the toolkit's stub, not a driver" -- "$program" "$folder/stub/libcuda.so.1"
grep -q '^cuInit: 34$' out || { echo "FAIL the stub does not answer as one"; failed=1; }
if [ ! -e /proc/driver/nvidia/version ] && [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
    record "no driver" "" "cupti: CUDA's libraries are here, but no driver: there is no libcuda.so.1" -- "$program" "$folder/runtime/libcudart.so.13" none
fi
nothing='cupti: CUDA did not start: its driver found no device that it can use'
FAKE_NO_DEVICE=1 FAKE_CUPTI_SUBSCRIBE=999 FAKE_CUPTI_ACTIVITY=999 record "no device" "" \
    "cupti 130001: refused: CUPTI_ERROR_UNKNOWN
$nothing" -- "$program" "$folder/driver/libcuda.so.1"
record "silent, a driver" "$callbacks" "" -- "$program" "$folder/driver/libcuda.so.1" silent
record "silent, the stub" "" "cupti: the libcuda.so.1 that was found is the toolkit's stub, not a driver" -- "$program" "$folder/stub/libcuda.so.1" silent
record "no CUDA" "" "" -- /bin/true

# torch.profiler, twice: it keeps CUPTI, and what went meanwhile is not there any more.
ask()
{
    "$tidemark" sql --format csv run.db "$1" | sed 1d | tr -d '"'
}
kept="cupti: while torch.profiler kept it, mapped, imported, graphs' and registered memory was not \
observed; TEARDOWN_CUPTI=1 makes it let go"
callbacks='cupti 130001: driver callbacks'
rm -f run.db
"$tidemark" record -o run.db -- "$program" "$folder/driver/libcuda.so.1" profile > out 2> err ||
    { echo "FAIL profile: status $?"; cat err; failed=1; }
expect "profile: live" "$callbacks
cupti 130001: memory records since torch.profiler" "$(said live)"
expect "profile: why not" "$kept" "$(ask 'SELECT why_not FROM process WHERE id = 1')"
expect "profile: gaps" "2,2" "$(ask 'SELECT count(*), count(end_ns) FROM gap')"
expect "profile: 1 MiB" "2,2" "$(ask "SELECT count(*), count(free_seq) FROM driver_memory WHERE size = 1048576
    AND EXISTS (SELECT 1 FROM gap WHERE first_seq < free_seq AND free_seq < last_seq)")"
expect "profile: 2 MiB" "0" "$(ask 'SELECT count(*) FROM driver_memory WHERE size = 2097152')"
expect "profile: 4 MiB" "2,0" "$(ask 'SELECT count(*), count(free_seq) FROM driver_memory WHERE size = 4194304')"
expect "profile: unknown" "0" "$(ask "SELECT count(*) FROM anomaly WHERE kind LIKE 'driver%'")"
record "a profiler that lets go" "$callbacks" "" -- "$program" "$folder/driver/libcuda.so.1" profile-and-go
expect "go: 1 MiB" "1" "$(ask "SELECT count(*) FROM driver_memory WHERE size = 1048576 AND free_seq <
    (SELECT last_seq FROM gap)")"
[ "$failed" = 0 ] && echo "every case said its one line"
exit "$failed"
