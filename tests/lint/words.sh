#!/bin/sh
# words.sh ROOT: nothing that a user reads has a word of words.txt: texts in the C sources of all that
# is shipped and in quotes of its Python, what it prints in the golden tests, the manual, the pages of
# docs with its recipes and notebooks, README.md and NEWS. SQL is not read, and neither are comments;
# words of a recorded program stand in fixtures.
set -eu
. "$(dirname "$0")/common.sh"

words=$here/words.txt
[ -f "$words" ] || words=tests/lint/words.txt


{
    files "$product" '*.c'
    [ ! -d python ] || find python -name '*.py'
} > "$report.c"
{
    [ ! -d docs/manual ] || find docs/manual -name '*.md'
    [ ! -d docs ] || find docs -maxdepth 1 -name '*.md'
    [ ! -d docs/notebooks ] || find docs/notebooks -name '*.ipynb'
    [ ! -d docs/recipes ] || find docs/recipes -type f
    for page in README.md NEWS; do [ ! -f $page ] || echo $page; done
    [ ! -d tests/cli ] || find tests/cli -name '*.stdout' -o -name '*.stderr'
} | sort > "$report.text"
{
    tr '\n' '\0' < "$report.c" | xargs -0 -r awk -v WORDS="$words" -v C=1 -f "$here/words.awk" /dev/null
    tr '\n' '\0' < "$report.text" | xargs -0 -r awk -v WORDS="$words" -v C=0 -f "$here/words.awk" /dev/null
} > "$report"
count=$(cat "$report.c" "$report.text" | wc -l)
rm -f "$report.c" "$report.text"
finish "$count" "files whose words a user knows"
