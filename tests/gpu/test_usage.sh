#!/bin/sh
# test_usage.sh SAMPLE: options are read before a GPU is looked for; without a GPU it says so in one
# line, and ends with 77.
set -eu
sample=$1
failed=0

# expect STATUS WORDS ARGUMENTS...
expect()
{
    wanted=$1
    words=$2
    shift 2
    got=0
    said=$("$sample" "$@" 2>&1) || got=$?
    case $said in
    *"$words"*) ;;
    *) got="$got without '$words'" ;;
    esac
    [ "$got" = "$wanted" ] || {
        echo "$sample $*: $got, not $wanted; it said: $said"
        failed=1
    }
}

expect 0 "usage: " --help
expect 0 "--steps" --help
expect 2 "--help" --steps=1
expect 2 "not a number that it takes: 'many'" --steps=many
expect 2 "--help" --no-such-option
expect 2 "unexpected argument 'x'" x

# Where the driver cannot be found there is no GPU either.
status=0
said=$(CUDA_VISIBLE_DEVICES='' "$sample" 2>&1) || status=$?
[ "$status" -eq 77 ] || {
    echo "without a GPU: exit status $status; it said: $said"
    failed=1
}
[ "$(printf '%s\n' "$said" | wc -l)" -eq 1 ] || {
    echo "more than one line: $said"
    failed=1
}
case $said in
"${sample##*/}: no GPU"*) ;;
*)
    echo "no GPU, and this was said: $said"
    failed=1
    ;;
esac
exit "$failed"
