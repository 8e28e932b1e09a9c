#!/bin/sh
# soak.sh [--release] [SECONDS] [FOLDER]: an hour, or as long as you say, of mixed traffic from eight
# programs that are killed at random, under one recorder (tests/soak, docs/reliability.md). Builds the
# dev preset, and all invariants are asked after each round of the drain and each commit; with
# --release what is installed, for figures of what it costs: about a third of one core. Prints the
# verdict and leaves it in FOLDER/report.txt. Room gets short after about a third of the time: what is
# held then is another amount, so not in the second half. What cannot be removed, 23 KB of each of some
# 220 programs a minute, takes half of the room.
set -eu
cd "$(dirname "$0")/.."
preset=dev
if [ "${1:-}" = --release ]; then
    preset=release
    shift
fi
seconds=${1:-3600}
folder=${2:-build/soak}
megabytes=$((seconds / 6 > 20 ? seconds / 6 : 20))
build=build/$preset
cmake --preset "$preset" >/dev/null
cmake --build "$build" --target tidemark tidemark_guest prog_soak >/dev/null
exec env TIDEMARK_ASSERTS=full nice -n 10 python3 -B tests/soak/soak.py "$build/viewer-cli/tidemark" \
    "$build/tests/soak/prog_soak" "$folder" "$seconds" --python /usr/bin/python3 \
    --max-size "${megabytes}MB"
