#!/bin/sh
# story.sh TIDEMARK GUEST PROGRAM: the recording of prog_gpu says what prog_gpu's own account says.
set -u
tidemark=$1 guest=$2 program=$3
. "$(dirname "$0")/lib.sh"

TIDEMARK_GUEST=$guest "$tidemark" record -o run.db -- "$program" 4 >account 2>err ||
    { cat err; exit 1; }
is "$(wc -l <account)" 12 "lines of the account"

# Every phase: allocated and reserved, as the driver and the blocks say together.
is "$(ask "SELECT step || ',' || phase || ',' || allocated || ',' || reserved FROM phase_table
           WHERE step IS NOT NULL AND kind <> 'other' ORDER BY begin_ns")" \
   "$(cut -d, -f1-4 account)" "allocated and reserved of each phase"

# Every line of the ladder at each phase's end.
while IFS=, read -r step phase allocated reserved outside unseen; do
    got=$("$tidemark" ladder run.db "$step/$phase" --format csv | awk -F, '
        $3 == "allocated" || $3 == "reserved" { printf "%s ", $4 }
        $3 == "outside the allocator" { sum += $5 }
        $3 ~ /context/ || $4 ~ /context/ { base = $0 }
        $3 == "unattributed" { printf "%d %s", sum, $5 }')
    is "$got" "$allocated $reserved $outside $unseen" "the ladder of $step/$phase"
done <account
is "$("$tidemark" ladder run.db end --format csv | grep -c "NCCL, 3 pieces")" 1 "NCCL by name"
is "$("$tidemark" ladder run.db end --format csv | grep "context")" \
   '1,cuda:0,"context, other processes",,524288000,there when the device was first observed' "context"

# Segments and pages are the driver's own, and each block is in one of them.
is "$(ask "SELECT count(*) FROM segment")" 6 "segments"
is "$(ask "SELECT count(*) FROM segment s JOIN driver_memory m ON m.seq = s.seq
           WHERE m.size = s.size AND m.address = s.address")" 6 "segments that are the driver's"
is "$(ask "SELECT count(*) FROM mapping")" 16 "pages"
is "$(ask "SELECT count(*) FROM allocation a WHERE segment IS NULL AND size < 30 << 20")" 0 \
   "blocks without a segment"
is "$(ask "SELECT count(*) FROM driver_memory WHERE kind = 'physical' AND blocks = 1")" 8 "pages owned"
is "$(ask "SELECT sum(size) >> 20 FROM driver_allocations WHERE outside AND device = 'cuda:0'
           AND kind <> 'managed'")" 15 "outside"
is "$(ask "SELECT device || kind FROM driver_allocations WHERE kind = 'host'")" hosthost "pinned memory"
is "$(ask "SELECT total_bytes >> 20 FROM device WHERE kind = 'cuda'")" 2048 "the device's memory"
is "$(ask "SELECT source || ': ' || why || (last_seq - first_seq) FROM gap")" \
   "cupti: torch.profiler ran2" "the gap"
is "$(ask "SELECT group_concat(kind || coalesce(name, '-'), ' ') FROM activities")" \
   "kernelgemm copy-" "activities"
is "$(ask "SELECT group_concat(kind) FROM anomaly")" "driver memory not seen to come" "anomalies"

# The reports take it.
for report in peak frag info phases; do
    "$tidemark" $report run.db >out 2>err || is "$(cat err)" "" "$report"
done
"$tidemark" info run.db | grep -q "torch.profiler ran" || is no yes "the gap in info"
"$tidemark" peak run.db --all | grep -q "cuBLAS, 2 pieces" || is no yes "cuBLAS in peak"

[ $failures -eq 0 ] && echo ok
[ $failures -eq 0 ]
