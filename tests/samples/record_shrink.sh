#!/bin/sh
# record_shrink.sh TIDEMARK SHRINK: one recording without a limit is enough for `tidemark fit` to name
# the least that the program survives with: it runs with that, and dies 2 MiB below. And a program
# that dies of its limit leaves a recording that says of what.
set -eu
tidemark=$1
shrink=$2
folder=$(mktemp -d) || exit 99
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail()
{
    echo "$1" >&2
    exit 1
}
ask()
{
    "$tidemark" sql "$1.db" --format csv "$(echo "$2" | tr "\n" " ")" | sed 1d | tr -d '"\r'
}

"$tidemark" record -o all.db -- "$shrink" --csv > all.csv || fail "without a limit it dies"
printed=$(cut -d, -f6 all.csv | sed 1d | sort -n | tail -n 1)
found=$(ask all "SELECT max(max_reserved) FROM phase_table")
[ "$found" = "$printed" ] || fail "reserved at most: recorded $found, printed $printed"

# fit NAME KEY: a number of the report's first row.
fit()
{
    "$tidemark" fit "$1.db" --format json > fit.json || fail "fit exits with $?"
    tr ',{' '\n\n' < fit.json | sed -n "s/^ *\"$2\": //p" | tr -d '}] ' | head -n 1
}
for options in "" --keep-cache --channels=64; do
    rm -f one.db
    # shellcheck disable=SC2086
    "$tidemark" record -o one.db -- "$shrink" --csv $options > one.csv
    [ "$(fit one address_match)" = 1.0 ] || fail "$options: not every address comes out as recorded"
    need=$(fit one smallest)
    # shellcheck disable=SC2086
    "$shrink" --csv $options --limit="$need" > /dev/null ||
        fail "$options: it dies of $need, which fit says it needs"
    # shellcheck disable=SC2086
    if "$shrink" --csv $options --limit=$((need - (2 << 20))) > /dev/null 2>&1; then
        fail "$options: it needs less than the $need that fit says"
    fi
done
need=$(fit all smallest)
steady=$(sed -n 's/^2,epoch,.*,//p' all.csv)
[ "$need" = "$steady" ] || fail "fit says $need, and the last epoch takes $steady"

got=0
"$tidemark" record -o dead.db -- "$shrink" --csv --limit=100MiB > dead.csv 2> dead.err || got=$?
[ "$got" -eq 1 ] || fail "100 MiB: exit $got"
grep -q "^shrink: out of memory: tried to allocate" dead.err || fail "$(cat dead.err)"
found=$(ask dead "SELECT count(*) > 0, max(reserved) <= 100 << 20, min(asked) > 0 FROM oom")
[ "$found" = "1,1,1" ] || fail "the refusals of a program that died: $found"
found=$(ask dead "SELECT value FROM setting WHERE key = 'limit'")
[ "$found" = $((100 << 20)) ] || fail "the limit in the recording: $found"
echo "without a limit it takes $printed bytes, it needs $need, and says of what it died"
