#!/bin/sh
# ratio.sh ROOT: at least as many lines of tests as of product, blank lines aside: C, headers, SQL,
# Python, and the shell that tests of the command line are written in. Expected outputs do not count.
set -eu
. "$(dirname "$0")/common.sh"

# lines "FOLDERS": how many lines with something in them.
lines()
{
    # shellcheck disable=SC2046
    cat /dev/null $(files "$1" '*.c' '*.h' '*.sql' '*.py' '*.def' '*.sh' '*.cmd' '*.awk') |
        grep -c '[^[:space:]]' || :
}

in_product=$(lines "$product")
in_tests=$(lines tests)
if [ "$in_tests" -lt "$in_product" ]; then
    echo "tests have $in_tests lines, fewer than the product's $in_product:"
    for folder in $product; do
        [ ! -d "$folder" ] || echo "    $(lines "$folder") in $folder/"
    done
fi > "$report"
finish "$in_tests to $in_product" "lines of tests to lines of product"
