#!/bin/sh
# plain.sh TIDEMARK PROGRAM LIBCUDA CUPTI ASKER: a program that calls CUDA itself on two GPUs, recorded:
# the reports say of each GPU what the program's own account says.
set -u
tidemark=$1 program=$2 libcuda=$3 asker=$5
. "$(dirname "$0")/lib.sh"
unset CUDA_INJECTION64_PATH TIDEMARK_KERNELS CUDA_HOME CUDA_PATH || :
export TIDEMARK_CUPTI="$4"

# section NAME COMMAND...: the rows of one section of csv.
section()
{
    name=$1
    shift
    "$tidemark" "$@" --format csv | awk -v name="# $name" '/^# / { on = $0 == name; at = NR; next }
        on && NR > at + 1 && NF' | tr -d '"'
}

record()
{
    rm -f run.db
    "$tidemark" record -o run.db -- "$program" "$libcuda" "$asker" "$1" >account 2>err ||
        { cat err; exit 1; }
}

# Nothing but CUDA: what held the memory at the peak is known to the byte, and the devices were asked
# when the program ended.
record plain
is "$(sed -n 's/^tidemark: no framework.s block was reported; //p' err)" \
    "CUDA's driver allocated 72.0 MiB at the peak, on cuda:0" "the closing line"
is "$(sed -n 's/^tidemark: next: //p' err)" "tidemark peak run.db" "what comes next"
is "$(section driver_peak peak run.db | cut -d, -f2,6 | tr '\n' ' ')" \
    "cuda:0,$(cut -d, -f1 account) cuda:1,$(cut -d, -f2 account) " "the peaks"
is "$(section driver_held peak run.db | cut -d, -f2,3,5,6)" \
    "cuda:0,75497472,2,the program
cuda:0,12345,1,libasker.so
cuda:1,16777216,1,the program" "who held it"
is "$(ask "SELECT group_concat(device) FROM (SELECT device FROM sample WHERE what = 'device used'
    ORDER BY device)")" "1,2" "each device was asked once"
is "$("$tidemark" ladder run.db end --format csv | awk -F, '/context/ || /unattributed/ { print $3, $5, $6 }' |
    tr -d '"' | sed 's/ *$//')" "context  314572800
unattributed
context  314572800
unattributed" "the ladder at the end, of one look"
"$tidemark" peak run.db --all | grep -q "no framework's block was seen there" || is no yes "the reason"
"$tidemark" frag run.db 2>&1 | grep -q "memory of CUDA's driver" || is no yes "where to look"

# Phases: each ladder adds up on both devices, whichever was current, and the pool is counted once.
record phases
is "$(ask "SELECT count(*) FROM phase p JOIN device d ON d.ordinal IN (0, 1) WHERE p.kind <> 'other' AND NOT EXISTS
    (SELECT 1 FROM sample s WHERE s.what = 'device used' AND s.device = d.id
     AND s.at_ns BETWEEN p.begin_ns AND p.end_ns)")" 0 "phases without a sample"
is "$(wc -l <account)" 9 "lines of the account"
is "$(section driver_phases phases run.db | awk -F, '$9 == "user" && $2 != "cuda:2" { print $2 "," $3 "," $4 "," $5 }' |
    sort)" "$(awk -F, '{ print "cuda:0," $1 "," $2 "," $3; print "cuda:1," $1 "," $2 "," $4 }' account |
    sort)" "what was given at each phase's end"
samples="sample s JOIN device_text d ON d.id = s.device"
is "$(ask "SELECT DISTINCT d.device, s.value >> 20 FROM $samples WHERE what = 'pool reserved'")" \
    "cuda:0,64" "the pool of GPU 0, and none of the others"
is "$(ask "SELECT sum(d.device = 'cuda:0') >= 7, sum(d.device = 'cuda:0') - sum(d.device = 'cuda:1')
    FROM $samples WHERE what = 'device used' AND s.at_ns >=
    (SELECT min(begin_ns) FROM phase WHERE name = 'load')")" "1,0" "both GPUs are asked each time"
is "$(ask "SELECT count(*), s.at_ns < (SELECT min(begin_ns) FROM phase WHERE name = 'load')
    FROM $samples WHERE what = 'device used' AND d.device = 'cuda:2'")" "1,1" \
    "GPU 2, while it had a context"
for gpu in 0 1; do
    while IFS=, read -r step phase first second; do
        given=$first hidden=$((2097152 * (step + 1)))
        [ "$gpu" = 1 ] && given=$second hidden=0
        [ "$phase" = load ] && [ "$gpu" = 0 ] && hidden=$((hidden - 2097152))
        got=$("$tidemark" ladder run.db "$step/$phase" --device cuda:$gpu --format csv | tr -d '"' |
            awk -F, '$3 == "from the driver" { sum += $5 } $3 == "unattributed" { printf "%d %d", sum, $5 }')
        is "$got" "$given $hidden" "the ladder of GPU $gpu at $step/$phase"
    done <account
done
is "$("$tidemark" why run.db 0/load..0/solve --device cuda:0 --format csv |
    awk -F, '/^# driver_change/ { on = 1 } on && $3 == "from the driver" { print $6; exit }')" \
    "$((67108864 + 12345))" "what changed"
is "$(ask "SELECT count(*) FROM anomaly")" 0 "anomalies"
[ $failures -eq 0 ] && echo ok
[ $failures -eq 0 ]
