#!/bin/sh
# banned.sh ROOT: calls that are not for us, or not for that folder. Comments and strings are not
# looked at; a member of that name (x.free, x->exit) is not a call of the function.
set -eu
. "$(dirname "$0")/common.sh"

files "$product samples" '*.c' '*.h' '*.def' > "$report.list"
# shellcheck disable=SC2046
awk -f "$here/strip.awk" -f "$here/banned.awk" $(cat "$report.list") > "$report"
count=$(wc -l < "$report.list")
rm -f "$report.list"
finish "$count" "files without banned calls"
