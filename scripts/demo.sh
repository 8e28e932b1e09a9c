#!/bin/sh
# demo.sh: on a fresh Debian 12, installs what is needed, builds, records the sample samples/c/seq2seq
# and prints two of the reports. No GPU and no real memory is used: the sample reports the blocks
# that its model would need.
set -eu
cd "$(dirname "$0")/.."
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH

scripts/setup.sh
mkdir -p build/demo
log=build/demo/build.log
{ cmake --preset release &&
    cmake --build --preset release --parallel "$(nproc)" --target tidemark tidemark_guest seq2seq; } \
    > "$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}

bin=$(pwd)/build/release
cd build/demo
rm -f tidemark.*.db*
show()
{
    printf '\n$ %s\n' "$*"
    command=$1
    shift
    "$bin/viewer-cli/$command" "$@" < /dev/null
}
show tidemark record -o tidemark.seq2seq.db -- "$bin/samples/seq2seq"
show tidemark phases tidemark.seq2seq.db
show tidemark peak tidemark.seq2seq.db
printf '\nThe recording is build/demo/tidemark.seq2seq.db; ask it more with %s sql.\n' \
    build/release/viewer-cli/tidemark
