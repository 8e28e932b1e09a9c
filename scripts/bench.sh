#!/bin/sh
# bench.sh - builds the release preset, runs the benchmarks and writes docs/benchmarks.md. Every figure
# stands beside its floor, measured in the same run; run it on a machine that does nothing else. It
# takes some ten minutes; with TIDEMARK_BENCH_ROUNDS=1 less than two, to see that it works.
set -eu
cd "$(dirname "$0")/.."
sh scripts/setup.sh heaptrack || sh scripts/setup.sh
build=build/release
python=/usr/bin/python3 # Debian's: with torch
report=docs/benchmarks.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --preset release >"$work/log" || { cat "$work/log"; exit 1; }
cmake --build --preset release >"$work/log" || { cat "$work/log"; exit 1; }

processor=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
{
    echo "# Benchmarks"
    echo
    echo "Written by scripts/bench.sh; do not edit. Each row is measured in turns with its floor, in one"
    echo "run; the ratio is the median of the rounds' ratios. A ratio of speeds (M/s) is better when it is"
    echo "larger, of times when it is smaller."
    echo
    echo "- date: $(date -u +%Y-%m-%d)"
    echo "- version: $(git describe --always --dirty 2>/dev/null || echo unknown)"
    echo "- processor: $processor, $(nproc) cores; Linux $(uname -r | cut -d- -f1)"
    echo "- compiler: $(cc --version | head -n 1)"
    echo "- $("$python" -c 'import torch, sys
print("Python %s, torch %s, one thread" % (sys.version.split()[0], torch.__version__))')"
    echo
    echo "| measure | Tidemark | floor | ratio | goal |"
    echo "|---|---|---|---|---|"
} >"$work/report"
say() {
    echo "bench.sh: $1" >&2
}
{
    say "the hook"
    "$build/tests/bench/bench_hook"
    say "forks"
    "$build/tests/bench/bench_forks" "$build/viewer-cli/tidemark" "$work"
    say "stacks"
    TIDEMARK_TEST_PRELOAD="" sh tests/profiler/pyframes/run.sh "$python" \
        "$build/tests/profiler/pyframes/libpyframes_probe.so" tests/bench/bench_stacks.py
    say "rows"
    "$build/tests/bench/bench_rows" "$work/rows.db"
    say "the allocator"
    "$build/tests/bench/bench_allocator"
    say "reports"
    "$build/tests/bench/bench_reports" "$build/viewer-cli/tidemark" \
        "$build/tests/bench/make_recording" "$build/tests/import/make_snapshot" "$work"
    say "the fleet"
    ranks="32 256"
    [ "${TIDEMARK_BENCH_ROUNDS:-5}" -gt 1 ] || ranks=32
    for count in $ranks; do
        python3 scripts/fleet-bench.py merge "$build/viewer-cli/tidemark" "$build/tests/cli/make_fixture" \
            "$work/fleet" --ranks "$count"
        rm -rf "$work/fleet"
    done
    say "training"
    "$python" tests/bench/bench_torch.py "$build/viewer-cli/tidemark" "$python" \
        tests/bench/torch_steps.py "$PWD/$build/tests/bench/null_reporter.so"
} >>"$work/report"
cat >>"$work/report" <<'END'

What the floors are:

- hook: read the clock and store 64 bytes, in a buffer as large as the ring. "Behind" is a drain that
  lags half a ring: each event goes to a line that the drain had last.
- first event of a forked child: the mean of 100 children, one after the other, that report one block: hello,
  a ring of their own, the block. The floor is a child of a program that named no call site.
- allocations stored a second: the same rows by one thread with bare prepared INSERTs (and UPDATEs by
  rowid for what outlives a commit), same file settings, transactions of 65,536. The recorder's side
  has two threads (heap state; writer), as in a recording, and does all of its work.
- bytes of the file: everything in the finished file, divided by the allocations in it.
- malloc and free, replay: glibc's malloc and free on the same sequence, sizes divided by 16, on memory
  that nobody touches. Pairs take a block and give it back at once; churn gives a random one of 10,000
  back and takes another.
- reports: one scan of the recording's allocations, SELECT sum(size) through the same SQLite, in a
  process of its own. The recording is synthetic (tests/bench/make_recording.c): 48 training steps of
  a model of 100 layers, 200,000 call stacks, 5,400 phases, 90,000 blocks live at the peak, 0.55 GB.
  Before each report and each scan the kernel drops its page cache, so that both begin at the
  disk; where that is not allowed, both begin with the file in memory, and the rows say so. Memory is
  the most that the process had at once.
- replay inside of `fit`: allocations and frees a second of CPU time of a recording with 1 M of them (made
  likewise, a tenth as wide), default settings, no limit. `fit` reads the file, replays it as
  recorded, and looks for the smallest memory; --table does the same under six settings.
- import: of snapshots by tests/import/make_snapshot.c: three events to a block, 33 frames each.
- merge: made-up recordings of one rank each, with clocks of their own (tests/merge/make_ranks.py), once. The floor
  is SQLite copying the rows of table allocation alone into one file, one recording after the other.
- hook with a Python stack: the floor of the hook. The 20 frames are functions that call each other, on
  CPython's own stack; the rows below it are what Python code needs for the same frames.
- a training step: the same program unrecorded, in turns, one thread, 15 rounds; CPU time as the program
  itself reads it around its steps. It is a GRU language model (vocabulary 1,000, width 96, 16 sequences
  of 32 words, Adam): some 70 ms and 1,080 tensors that come and go a step. torch.profiler and heaptrack
  take part in 3 of the 15 rounds, torch.profiler with 10 steps, because of what it does at its end:
  "the same with its end" spreads that over those steps. The two recorders work outside of the program
  (Tidemark's is the row below; heaptrack's is not counted).
- a tiny model's step: the same with vocabulary 300, width 32, 8 sequences, some 6 ms: hardly any work
  between two tensors, which shows the cost of an event. "torch's own reports to nobody" is what torch
  spends on its side of a report (a lock, a table of sizes) when the listener does nothing.
- recorder CPU for each stored allocation of the training programs: all threads of the recorder, its
  start and its end included, over some 30 and 160 thousand allocations.
END
cp "$work/report" "$report"
cat "$report"
