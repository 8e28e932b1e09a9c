#!/bin/sh
# bench.sh - builds the release preset, runs the benchmarks and writes docs/benchmarks.md. Every figure
# stands beside its floor, measured in the same run; run it on a machine that does nothing else.
set -eu
cd "$(dirname "$0")/.."
build=build/release
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
    echo
    echo "| what | Tidemark | floor | ratio | goal |"
    echo "|---|---|---|---|---|"
} >"$work/report"
for bench in hook rows allocator; do
    echo "bench.sh: bench_$bench" >&2
    case $bench in
    rows) "$build/tests/bench/bench_rows" "$work/rows.db" ;;
    *) "$build/tests/bench/bench_$bench" ;;
    esac >>"$work/report"
done
cat >>"$work/report" <<'END'

What the floors are:

- hook: read the clock and store 64 bytes, in a buffer as large as the ring. "Behind" is a drain that
  lags half a ring: each event goes to a line that the drain had last.
- allocations stored a second: the same rows by one thread with bare prepared INSERTs (and UPDATEs by
  rowid for what outlives a commit), same file settings, transactions of 65,536. The recorder's side
  has two threads (heap state; writer), as in a recording, and does all of its work.
- malloc and free, replay: glibc's malloc and free on the same sequence, sizes divided by 16, on memory
  that nobody touches. Pairs take a block and give it back at once; churn gives a random one of 10,000
  back and takes another.
- bytes of the file: everything in the finished file, divided by the allocations in it.
END
cp "$work/report" "$report"
cat "$report"
