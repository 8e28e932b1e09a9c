#!/bin/sh
# run.sh TIDEMARK FIXTURES CASES DATA [--rewrite]: golden tests of one folder of cases.
#
#   NAME.cmd     shell text, run by sh in an empty folder with the fixtures below and `tidemark` in PATH
#   NAME.stdout  what it prints
#   NAME.stderr  what it says; no file = nothing
#   NAME.exit    its exit status; no file = 0
#
# A case has a copy of each fixture whose name stands in it, or of all if it has a "*" or the words "all
# fixtures"; $FIXTURES is the folder of all. FIXTURES is a folder with those of DATA/*.sql, empty.db, and
# in a folder of the name of CASES those of CASES/*.sql; or the program that makes one of them: FIXTURES
# OUT.db [ROWS.sql]. --rewrite writes what came as what is expected: look at the difference before it is
# committed.
set -u
# Cases run in folders of their own.
tidemark=$(realpath "$1") && ready=$(realpath "$2") && cases=$(realpath "$3") && data=$(realpath "$4") ||
    exit 99
rewrite=${5-}

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/fixtures" || exit 99
ln -s "$tidemark" "$work/bin/tidemark" || exit 99
if [ -d "$ready" ]; then
    cp "$ready"/*.db "$work/fixtures/" || exit 99
    for db in "$ready/$(basename "$cases")"/*.db; do
        [ ! -e "$db" ] || cp "$db" "$work/fixtures/" || exit 99
    done
    for sql in "$data"/*.sql "$cases"/*.sql; do # another folder would rewrite what is right
        [ ! -e "$sql" ] || [ -e "$work/fixtures/$(basename "$sql" .sql).db" ] || {
            echo "run.sh: $ready has no $(basename "$sql" .sql).db" >&2
            exit 99
        }
    done
else
    for sql in "$data"/*.sql "$cases"/*.sql; do
        [ -e "$sql" ] || continue
        "$ready" "$work/fixtures/$(basename "$sql" .sql).db" "$sql" || exit 99
    done
    "$ready" "$work/fixtures/empty.db" || exit 99
fi
# The interpreter that CMake found: what stands in PATH may be a program that looks for one.
[ -z "${TIDEMARK_PYTHON-}" ] || {
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$TIDEMARK_PYTHON" >"$work/bin/python3" || exit 99
    chmod +x "$work/bin/python3"
}

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
    if [ ! -s "$1" ] && [ ! -s "$2" ]; then
        return 0
    elif [ -e "$2" ]; then
        diff -u "$2" "$1"
    else
        diff -u /dev/null "$1"
    fi
}

# The fixtures that a case names, into the folder that it runs in.
copy_fixtures() # CMD
{
    text=$(cat "$1")
    case $text in *'*'* | *"all fixtures"*) all=1 ;; *) all=0 ;; esac
    set --
    for db in "$work"/fixtures/*.db; do
        name=${db##*/}
        case $all$text in 1* | *"${name%.db}"*) set -- "$@" "$db" ;; esac
    done
    [ $# -eq 0 ] || cp "$@" "$work/here/"
}

ran=0 failed=0
for cmd in "$cases"/*.cmd; do
    [ -e "$cmd" ] || { echo "no cases in $cases"; exit 99; }
    base=${cmd%.cmd}
    rm -rf "$work/here"
    mkdir "$work/here"
    copy_fixtures "$cmd" || exit 99
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
