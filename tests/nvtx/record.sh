#!/bin/sh
# record.sh PROGRAMS GUEST PROGRAM TIDEMARK: what a program names by NVTX, in a recording of it. The
# program has a NVTX that plays NVIDIA's part, or NVIDIA's own.
program=$3
tidemark=$4
. "$(dirname "$0")/../record/lib.sh"

nothing_lost() {
    is "$(ask 'SELECT count(*) FROM lost')$(ask 'SELECT count(*) FROM torn')" 00 "$1: what was lost"
}

# ---- a training ----
record -- "$program" train
is $status 0 "train"
finished
nothing_lost train
is "$(ask 'SELECT live, why_not IS NULL FROM process')" "api, nvtx|1" "train: sources"
is "$(ask "SELECT count(*) FROM anomaly")" 0 "train: anomalies"
is "$(ask "SELECT group_concat(kind || ':' || name, ' ') FROM (SELECT kind, name FROM phase
    WHERE step = 0 AND kind <> 'other' ORDER BY begin_seq)")" \
    "zero_grad:Zero_Grad forward:Forward backward:loss.backward() optimizer:optimizer.step" "the parts of a step"
is "$(ask "SELECT group_concat(step) FROM (SELECT DISTINCT step FROM phase WHERE step NOT NULL ORDER BY 1)")" \
    "0,1,2,3" "steps go on in a second epoch"
is "$(ask "SELECT count(*) FROM phase WHERE step NOT NULL AND kind = 'optimizer'")" 4 "one optimizer in each"
is "$(ask "SELECT count(*) FROM phase WHERE name LIKE 'iteration%'")" 0 "a step is no phase"
is "$(ask "SELECT group_concat(name || '<' || (SELECT up.name FROM phase up WHERE up.id = ph.parent), ' ')
    FROM phase ph WHERE name LIKE 'batch%' AND step IS NULL AND kind = 'user'")" \
    "batch 0<validate batch 1<validate batch 0<validate batch 1<validate" "batches of an evaluation"
is "$(ask "SELECT count(*) FROM phase WHERE kind = 'eval'")" 2 "evaluations"
is "$(ask "SELECT count(*) FROM phase WHERE name = 'Größe 漢'")" 1 "a wide name"
is "$(ask "SELECT group_concat(name || ' ' || value || ' ' || coalesce(domain, '-'), ', ') FROM mark")" \
    "checkpoint 7 42 -, plain 0 -, registered 42 -, rank 3 NCCL" "marks"
is "$(ask "SELECT count(*), min(scope), max(scope), min(name), count(step), min(up), max(up) FROM (SELECT ph.*,
    (SELECT kind FROM phase u WHERE u.id = ph.parent) AS up FROM phase ph WHERE domain = 'NCCL')")" \
    "4|thread|thread|ncclAllReduce|0|backward|backward" "ranges of a library"
is "$(ask "SELECT count(*) FROM allocation_phase")" 0 "no block is in them"
is "$(ask "SELECT phase, count(*) FROM allocations WHERE step NOT NULL GROUP BY phase ORDER BY phase")" \
    "$(printf 'Forward|4\nloss.backward()|8\noptimizer.step|4\nother|4')" "blocks by phase"
is "$(ask "SELECT count(*) FROM stretch st JOIN phase ph ON ph.id = st.phase WHERE ph.domain NOT NULL")" 0 \
    "stretches of a library"
is "$(ask "SELECT sum(end_ns - begin_ns) - (SELECT end_ns - start_ns FROM process) FROM phase
    WHERE scope = 'process' AND parent IS NULL")" 0 "time adds up"

# ---- the report ----
is "$("$tidemark" phases run.db | grep -c ncclAllReduce)" 0 "phases: a library's are left out"
is "$("$tidemark" phases run.db --all | grep -c 'NCCL: ncclAllReduce')" 4 "phases --all"
is "$("$tidemark" phases run.db --domain NCCL --format csv | cut -d, -f4 | sort | uniq -c | tr -s ' ')" \
    "$(printf ' 4 ncclAllReduce\n 1 phase')" "phases --domain"
is "$("$tidemark" phases run.db --domain NCCL --steps 1..2 --format csv | wc -l)" 3 "phases --domain --steps"
is "$("$tidemark" phases run.db --format csv | grep -c NCCL)" 0 "phases in csv"
for report in peak "peak --steps 1..2" frag leaks info ladder "diff run.db" "check --max-peak 1GiB"; do
    "$tidemark" ${report%% *} run.db $(echo "$report" | cut -s -d' ' -f2-) >report 2>&1 || [ $? -eq 1 ] ||
        is "$(cat report)" "" "$report beside a library's ranges"
done

# ---- levels, names, threads ----
record -- "$program" levels
is "$(cat out)" "100 0 0 0 -1 0 -1" "levels"
is "$(ask "SELECT count(*), max(name = 'deep') FROM phase WHERE scope = 'process' AND kind <> 'other'")" "101|1" "deep"

# (A ring for all events: a busy machine may let the recorder stand still for longer than a program waits.)
record -b 20 -- "$program" names
nothing_lost names
is "$(ask "SELECT max(step), count(*) > 1000 FROM phase WHERE step NOT NULL")" "19999|1" "names: steps"
is "$(ask "SELECT count(DISTINCT name) < 8200, count(*) FROM phase WHERE kind = 'user'")" "1|20000" "names: bounded"
is "$(ask "SELECT count(*) > 10000 FROM phase WHERE name = '(other names)'")" 1 "names: the rest"
is "$(ask "SELECT why_not LIKE '%NVTX: too many different names%' FROM process")" 1 "names: said"

record -b 20 -- "$program" threads
nothing_lost threads
is "$(ask "SELECT count(*) FROM phase WHERE name LIKE 'thread %'")" 300 "threads: ranges"
is "$(ask "SELECT count(*) FROM phase ph JOIN phase up ON up.id = ph.parent WHERE ph.name IN ('inner', 'ncclSend')
    AND up.name LIKE 'thread %' AND up.thread = ph.thread AND up.begin_seq < ph.begin_seq AND up.end_seq > ph.end_seq")" \
    600 "threads: what is inside them"
is "$(ask "SELECT count(*) FROM phase WHERE domain = 'NCCL' AND scope = 'thread'")" 300 "threads: a library"
is "$(ask "SELECT ended IN ('unbalanced', 'process end') FROM phase WHERE name = 'abandoned'")" 1 "a thread that dies"

# ---- ranges that need not nest ----
record -- "$program" free
is "$(ask "SELECT name, scope, step IS NULL, parent IS NULL, ended, domain FROM phase WHERE scope = 'range'")" \
    "$(printf 'load 1|range|1|1|end|\ntransfer|range|1|1|end|copies\nnever|range|1|1|process end|')" "free ranges"
is "$(ask "SELECT count(*) FROM phase_device WHERE phase IN (SELECT id FROM phase WHERE scope = 'range')")" 0 \
    "free ranges on devices"
is "$(ask "SELECT phase FROM allocations")" forward "a block beside free ranges"
is "$(ask "SELECT kind, detail FROM anomaly")" "phase end without begin|range 123456" "an end of nothing"
for report in peak phases frag info; do
    "$tidemark" $report run.db >report 2>&1 || is "$(cat report)" "" "$report beside free ranges"
done

# ---- fork, crossing, an end in the midst ----
record -- "$program" fork
is "$(cat out)" "0 0" "levels in a child"
is "$(ask "SELECT process, name, ended FROM phase WHERE kind <> 'other' ORDER BY process, begin_seq")" \
    "$(printf '1|outer|end\n1|of the parent|end\n2|of the child|end\n2|again|end')" "ranges of a child"
is "$(ask "SELECT count(*) FROM process WHERE live LIKE '%nvtx%'")" 2 "sources of a child"
is "$(ask "SELECT count(*) FROM anomaly")" 0 "anomalies of a child"

record -- "$program" mixed
is "$(ask "SELECT name, (SELECT name FROM phase up WHERE up.id = ph.parent), ended FROM phase ph
    WHERE kind <> 'other'")" "$(printf 'theirs||end\nours|theirs|end\ninside|ours|end')" "ranges and phases"
is "$(ask "SELECT DISTINCT step FROM phase WHERE step NOT NULL")" 7 "the program's own steps win"

record -- "$program" open
is "$(ask "SELECT name, step, kind, ended FROM phase WHERE kind <> 'other'")" \
    "$(printf 'epoch 1||user|process end\nstep|5|user|end\nfwd|5|forward|end\nstep|6|user|process end\nbwd|6|backward|process end')" \
    "an end in a step"

# ---- nobody records, somebody else does, it is switched off ----
is "$("$program" levels)" "-2 -2 -2 -2 -2 -2 -2" "nobody records"
is "$(NVTX_INJECTION64_PATH=$guest "$program" levels)" "-2 -2 -2 -2 -2 -2 -2" "the library without a recorder"
NVTX_INJECTION64_PATH=/no/such/libToolsInjection64.so record -- sh -c "echo \$NVTX_INJECTION64_PATH; $program train"
is "$(cat out)" "/no/such/libToolsInjection64.so" "another tool's variable"
is "$(ask "SELECT count(*) FROM phase WHERE kind <> 'other'")" 0 "another tool's ranges"
is "$(ask "SELECT why_not LIKE 'NVTX: NVTX_INJECTION64_PATH names another library (/no/such/libTools%'
    FROM process WHERE id = 1")" 1 "another tool: said"
rm -f run.db
"$tidemark" record -o run.db --no-nvtx -- sh -c "echo \$NVTX_INJECTION64_PATH; $program train" >out 2>err
is "$(cat out)" "" "--no-nvtx"
is "$(ask "SELECT count(*) FROM phase WHERE kind <> 'other'")" 0 "--no-nvtx: ranges"
rm -f run.db
"$tidemark" record -o run.db -- "$program" train 2>err
is "$(ask "SELECT count(*) FROM phase WHERE kind = 'backward'")" 4 "tidemark record"

# A program that was started without the library in LD_PRELOAD: NVTX brings it in.
record -- env -u LD_PRELOAD "$program" train
is "$(ask "SELECT count(*) FROM phase WHERE kind = 'backward'")" 4 "without LD_PRELOAD"
end_of_tests
