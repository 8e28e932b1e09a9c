#!/bin/sh
# snapshots.sh TIDEMARK FOLDER [SNAPSHOTS]: every snapshot of the folder SNAPSHOTS, or of
# $TIDEMARK_SNAPSHOTS, comes out of the database as it went in.
set -eu
tidemark=${1:?the command}
here=${2:?the folder of the tests}
snapshots=${3:-${TIDEMARK_SNAPSHOTS:-}}
set --
[ -z "$snapshots" ] || for file in "$snapshots"/*.pickle; do
    [ ! -f "$file" ] || set -- "$@" "$file"
done
[ $# -gt 0 ] || { echo "skipped: TIDEMARK_SNAPSHOTS names no folder with snapshots"; exit 77; }
command -v python3 > /dev/null || { echo "skipped: there is no python3"; exit 77; }
exec python3 -B "$here/test_round_trip.py" "$tidemark" "$@"
