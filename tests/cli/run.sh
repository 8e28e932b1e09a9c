#!/bin/sh
# run.sh TIDEMARK MAKE_FIXTURE CASES DATA [--rewrite]: golden tests of one folder of cases.
#
#   NAME.cmd     shell text, run by sh in an empty folder with the fixtures below and `tidemark` in PATH
#   NAME.stdout  what it prints
#   NAME.stderr  what it says; no file = nothing
#   NAME.exit    its exit status; no file = 0
#
# Fixtures are made from DATA/*.sql and CASES/*.sql once: NAME.db in $FIXTURES; a case that needs an
# own copy makes one. --rewrite writes what came as what is expected: look at the difference before
# it is committed.
set -u
tidemark=$1 make_fixture=$2 cases=$3 data=$4 rewrite=${5-}

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/fixtures" || exit 99
ln -s "$tidemark" "$work/bin/tidemark" || exit 99
for sql in "$data"/*.sql "$cases"/*.sql; do
    [ -e "$sql" ] || continue
    name=$(basename "$sql" .sql)
    "$make_fixture" "$work/fixtures/$name.db" "$sql" || exit 99
done
"$make_fixture" "$work/fixtures/empty.db" || exit 99

FIXTURES=$work/fixtures PATH=$work/bin:$PATH TZ=UTC LC_ALL=C.UTF-8
export FIXTURES PATH TZ LC_ALL
unset COLUMNS NO_COLOR

# Compares one kind of output with its golden file; an empty output has no file.
same() # GOT EXPECTED
{
    if [ "$rewrite" = --rewrite ]; then
        if [ -s "$1" ] || [ "${2##*.}" = stdout ]; then cp "$1" "$2"; else rm -f "$2"; fi
        return 0
    fi
    if [ -e "$2" ]; then
        diff -u "$2" "$1"
    else
        diff -u /dev/null "$1"
    fi
}

ran=0 failed=0
for cmd in "$cases"/*.cmd; do
    [ -e "$cmd" ] || { echo "no cases in $cases"; exit 99; }
    base=${cmd%.cmd}
    rm -rf "$work/here"
    mkdir "$work/here"
    cp "$work"/fixtures/*.db "$work/here/" || exit 99
    (cd "$work/here" && sh "$cmd") >"$work/stdout" 2>"$work/stderr" </dev/null
    status=$?
    : >"$work/exit"
    [ $status -eq 0 ] || echo $status >"$work/exit"
    good=0
    for kind in stdout stderr exit; do
        same "$work/$kind" "$base.$kind" || good=1
    done
    ran=$((ran + 1))
    if [ $good -ne 0 ]; then
        failed=$((failed + 1))
        echo "FAIL $(basename "$cases")/$(basename "$base"): $(cat "$cmd")"
    fi
done
echo "$ran cases in $(basename "$cases"), $failed failed"
[ "$failed" -eq 0 ]
