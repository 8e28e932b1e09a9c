#!/bin/sh
# commits.sh ROOT: each commit of the history is called "area: Subject", under 60 characters.
set -eu
. "$(dirname "$0")/common.sh"

[ "$(tree_git rev-parse --show-toplevel)" = "$(pwd -P)" ] ||
    { echo "not a git checkout"; exit 77; }
tree_git log --no-merges --format='%h %s' > "$report.log"
awk '
    {
        subject = substr($0, length($1) + 2)
        if (length(subject) >= 60)
            printf "%s: %d characters, not under 60: %s\n", $1, length(subject), subject
        if (subject !~ /^[a-z][a-z0-9-]*(\/[a-z0-9-]+)*: [A-Z]/)
            printf "%s: not \"area: Subject\": %s\n", $1, subject
    }' "$report.log" > "$report"
count=$(wc -l < "$report.log")
rm -f "$report.log"
finish "$count" "commits with a proper subject"
