#!/bin/sh
# snapshots.sh TIDEMARK [FOLDER] [FILE...]: memory snapshots of PyTorch, imported and replayed. Every
# address must come out as the snapshot has it, and every segment with its size.
#
# Without files: all *.pickle of FOLDER, or of $TIDEMARK_SNAPSHOTS. None there: skipped. Snapshots say
# a lot about the programs that they are of, so none is kept with the source.
set -eu
tidemark=$1
folder=${2-}
shift
[ $# -eq 0 ] || shift
[ -n "$folder" ] || folder=${TIDEMARK_SNAPSHOTS-}
if [ $# -eq 0 ] && [ -n "$folder" ]; then
    for file in "$folder"/*.pickle; do
        [ ! -e "$file" ] || set -- "$@" "$file"
    done
fi
if [ $# -eq 0 ]; then
    echo "no snapshots to replay: configure with -DTIDEMARK_SNAPSHOTS=FOLDER, or name files"
    exit 77
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# Of a few that are well known: allocations in their traces.
known()
{
    case $(basename "$1") in
        gpt-ctx128-fullstep.pickle) echo 6771 ;;
        gpt-medium-ctx1024-training.pickle) echo 7591 ;;
        cnn-training.pickle) echo 1935 ;;
    esac
}

# From the section fit: device allocations addresses_equal segments segments_equal sizes, by name.
columns()
{
    awk -F, '
        /^# / { inside = $0 == "# fit"; header = 1; next }
        !inside || !NF { next }
        header { for (i = 1; i <= NF; i++) at[$i] = i; header = 0; next }
        { print $at["device"], $at["allocations"], $at["addresses_equal"], $at["segments"],
                $at["segments_equal"], $at["sizes"] }'
}

failed=0
wrong() # FILE WHAT
{
    echo "FAIL $1: $2"
    failed=1
}

for file in "$@"; do
    rm -f "$work/run.db"
    "$tidemark" import "$file" -o "$work/run.db" >"$work/said" 2>&1 ||
        { cat "$work/said"; wrong "$file" "not imported"; continue; }
    "$tidemark" fit "$work/run.db" --format csv >"$work/fit.csv" || { wrong "$file" "no fit"; continue; }
    columns <"$work/fit.csv" >"$work/rows"
    [ -s "$work/rows" ] || wrong "$file" "nothing was replayed"
    total=0
    while read -r device allocations equal segments same sizes; do
        echo "$(basename "$file") $device: $equal of $allocations addresses, $same of $segments segments"
        [ "$allocations" = "$equal" ] || wrong "$file" "addresses differ on $device"
        [ "$segments" = "$same" ] || wrong "$file" "segments differ on $device"
        [ "$sizes" = requested ] || wrong "$file" "requests are not known on $device"
        total=$((total + allocations))
    done <"$work/rows"
    wanted=$(known "$file")
    [ -z "$wanted" ] || [ "$wanted" -eq "$total" ] || wrong "$file" "$total allocations, not $wanted"
done
exit $failed
