#!/bin/sh
# sentences.sh ROOT [LIST]: no sentence decides anything. Literals of two words or more that strstr, strcmp
# and their like look for stand in sentences.txt, with whose words they are; nothing stands there in vain.
set -eu
. "$(dirname "$0")/common.sh"
list=${2:-$here/sentences.txt}

files "$product" '*.c' '*.h' > "$report.list"
# shellcheck disable=SC2046
awk -f "$here/sentences.awk" $(cat "$report.list") > "$report.found"
awk -F '\t' -v list="$list" '
    BEGIN { while ((getline < list) > 0) if ($0 !~ /^#/) listed[$1 "\t" $2] = 1 }
    {
        file = $0
        sub(/:.*/, "", file)
        words = $0
        sub(/^[^:]*:[0-9]*: /, "", words)
        if ((file "\t" words) in listed) used[file "\t" words] = 1
        else printf "%s: decides by a sentence; an enum can\n", $0
    }
    END {
        for (entry in listed)
            if (!(entry in used)) {
                split(entry, part, "\t")
                printf "%s: does not look for \"%s\"\n", part[1], part[2]
            }
    }' "$report.found" > "$report"
count=$(wc -l < "$report.list")
rm -f "$report.list" "$report.found"
finish "$count" "files in which no sentence decides"
