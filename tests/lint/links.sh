#!/bin/sh
# links.sh ROOT: what a Markdown file links to inside the tree is there. Links to the network are
# not followed.
set -eu
. "$(dirname "$0")/common.sh"

every_file | grep '\.md$' > "$report.list" || :
while read -r page; do
    { grep -o '](\([^)]*\))' "$page" || :; } | sed -e 's/^](//' -e 's/)$//' -e 's/#.*//' |
        while read -r target; do
            case $target in "" | *://* | mailto:*) continue ;; esac
            [ -e "$(dirname "$page")/$target" ] || echo "$page: $target is not there"
        done
done < "$report.list" > "$report"
count=$(wc -l < "$report.list")
rm -f "$report.list"
finish "$count" "pages whose links lead somewhere"
