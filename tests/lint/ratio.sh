#!/bin/sh
# ratio.sh ROOT: at least as many lines of tests as of product: C, headers, SQL and Python, blank
# lines aside.
set -eu
. "$(dirname "$0")/common.sh"

# lines "FOLDERS": how many lines with something in them.
lines()
{
    # shellcheck disable=SC2046
    cat /dev/null $(files "$1" '*.c' '*.h' '*.sql' '*.py' '*.def') | grep -c '[^[:space:]]' || :
}

in_product=$(lines "$product")
in_tests=$(lines tests)
[ "$in_tests" -ge "$in_product" ] ||
    echo "tests have $in_tests lines, fewer than the product's $in_product" > "$report"
finish "$in_tests to $in_product" "lines of tests to lines of product"
