#!/bin/sh
# soak.sh [SECONDS] [FOLDER]: an hour, or as long as you say, of mixed traffic from eight programs that
# are killed at random, under one recorder (tests/soak, docs/reliability.md). Builds the release preset,
# takes about a third of one core, prints the verdict and leaves it in FOLDER/report.txt. Room gets
# short after an eighth of the time: what is held then is another amount, so not in the second half.
set -eu
cd "$(dirname "$0")/.."
seconds=${1:-3600}
folder=${2:-build/soak}
megabytes=$((seconds / 12 > 20 ? seconds / 12 : 20))
build=build/release
cmake --preset release >/dev/null
cmake --build "$build" --target tidemark tidemark_guest prog_soak >/dev/null
exec nice -n 10 python3 -B tests/soak/soak.py "$build/viewer-cli/tidemark" \
    "$build/tests/soak/prog_soak" "$folder" "$seconds" --python /usr/bin/python3 \
    --max-size "${megabytes}MB"
