#!/bin/sh
# paths.sh ROOT: no file names a path that only one machine has.
set -eu
. "$(dirname "$0")/common.sh"

every_file > "$report.list"
# The brackets keep this line from finding itself.
tr '\n' '\0' < "$report.list" |
    xargs -0 grep -nIE '(^|[^[:alnum:]._-])/(wor[k]|tmp/w[t]|roo[t]|hom[e])(/|[^[:alnum:]_]|$)' \
        /dev/null > "$report" || :
count=$(wc -l < "$report.list")
rm -f "$report.list"
finish "$count" "files without a machine's paths"
