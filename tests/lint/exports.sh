#!/bin/sh
# exports.sh LIBRARY MAP: the symbols that LIBRARY defines for others are those that the version
# script MAP names under `global:`, neither more nor fewer. A name with a * must match at least one.
set -eu
library=$1
map=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Comments off, one word a line; the words between "global:" and "local:" or "}".
sed -e 's|/\*.*\*/||g' -e 's|#.*||' "$map" | tr ';{}' '\n\n\n' | tr -s ' \t' '\n\n' | awk '
    /^global:$/ { on = 1; next }
    /^local:$/ { on = 0; next }
    on && /./ { print }' | sort -u > "$work/wanted"
nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    sort -u > "$work/exported"

[ -s "$work/wanted" ] || { echo "$map names no symbol"; exit 1; }
awk -v library="$library" -v map="$map" '
    function pattern(glob) {
        gsub(/[.\\+?(){}|^$]/, "\\\\&", glob)
        gsub(/\*/, ".*", glob)
        return "^" glob "$"
    }
    NR == FNR { glob[$0] = pattern($0); used[$0] = 0; next }
    {
        found = 0
        for (g in glob)
            if ($0 ~ glob[g]) { used[g] = 1; found = 1 }
        if (!found) { printf "%s exports %s, which %s does not name\n", library, $0, map; bad++ }
    }
    END {
        for (g in glob)
            if (!used[g]) { printf "%s names %s, which %s lacks\n", map, g, library; bad++ }
        exit bad ? 1 : 0
    }' "$work/wanted" "$work/exported"
echo "$library exports what $map names: $(wc -l < "$work/exported") symbols"
