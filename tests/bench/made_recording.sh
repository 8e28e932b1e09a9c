#!/bin/sh
# made_recording.sh TIDEMARK MAKE_RECORDING TEST_CATEGORY: a small recording of the benchmarks is one
# that the reports understand: a replay gets every address, the block that each step keeps is
# found, and the categories are those of the view.
set -eu
tidemark=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail()
{
    echo "made_recording.sh: $1" >&2
    exit 1
}

"$2" "$folder/run.db" 60000 700 2000
ask()
{
    "$tidemark" sql "$folder/run.db" --format csv "$1" | tail -n 1 | tr -d '\r'
}
[ "$(ask "SELECT count(*) >= 60000 FROM allocation")" = 1 ] || fail "too few allocations"
[ "$(ask "SELECT count(DISTINCT site) FROM site")" = 700 ] || fail "not 700 sites"
[ "$(ask "SELECT count(*) BETWEEN 1500 AND 2500 FROM live_at_peak")" = 1 ] || fail "not 2,000 alive"
[ "$(ask "SELECT count(*) FROM anomaly")" = 0 ] || fail "anomalies"
"$tidemark" fit "$folder/run.db" --format json | grep -q '"address_match": 1\(\.0*\)\{0,1\}[,}]' ||
    fail "other addresses in the replay"
"$tidemark" leaks "$folder/run.db" --format json | grep -q '"sure": "sure"' || fail "no leak"
TIDEMARK_COMPARE=$folder/run.db "$3" a_recording_of_somebody
