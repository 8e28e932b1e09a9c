#!/bin/sh
# lengths.sh ROOT: no file over 1000 lines (over 700 is said), no C function over 100, base/ as a
# whole under 1600. A function is what stands between a { and a } in the first column, as
# clang-format leaves it.
set -eu
. "$(dirname "$0")/common.sh"

files "$product samples tests scripts" '*.c' '*.h' '*.sql' '*.sh' '*.py' '*.awk' '*.cmake' \
    '*.def' > "$report.list"
# shellcheck disable=SC2046
awk '
    function end_file() {
        if (lines > 1000) printf "%s:%d: a file of %d lines, over 1000\n", file, lines, lines
        else if (lines > 700) printf "note: %s has %d lines, over 700\n", file, lines > "/dev/stderr"
    }
    FNR == 1 { end_file(); file = FILENAME; c = file ~ /\.[ch]$/; begin = 0 }
    { lines = FNR }
    c && /^{/ { begin = FNR; name = last }
    c && /^}/ && begin {
        if (FNR - begin + 1 > 100)
            printf "%s:%d: a function of %d lines, over 100: %s\n", file, begin, FNR - begin + 1,
                name
        begin = 0
    }
    c && /[^ \t]/ { last = $0 }
    END { end_file() }' $(cat "$report.list") > "$report"
# shellcheck disable=SC2046
in_base=$(cat /dev/null $(files base '*.c' '*.h' '*.def') | wc -l)
[ "$in_base" -lt 1600 ] ||
    echo "base/ has $in_base lines, not under 1600: does all of it belong there?" >> "$report"
count=$(wc -l < "$report.list")
rm -f "$report.list"
finish "$count" "files of bearable length"
