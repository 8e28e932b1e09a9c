#!/bin/sh
# test.sh [--all]: on a fresh Debian 12, installs what is needed, builds, and runs the tests.
#
# The default suite, of preset dev: a few minutes. --all: what is linked in-process under the address
# and undefined-behaviour sanitizers and under the thread sanitizer, and then preset whole, the default
# suite with the tests that take longest. --quick says that it is the default. What is labelled slow is
# left out: `ctest --preset slow` runs it. Ends with ctest's summary: of the last suite, or of a run
# that failed; any failure is this script's failure.
set -eu
cd "$(dirname "$0")/.."
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH

presets=dev
case ${1:-} in
--all) presets="asan-ubsan tsan whole" ;;
--quick | "") ;;
*)
    echo "usage: scripts/test.sh [--all]" >&2
    exit 2
    ;;
esac

# The tests of man pages and of zsh's completion want these, and are skipped without them; so is, of
# --all, that of what clang takes.
scripts/setup.sh groff zsh || scripts/setup.sh
[ "$presets" = dev ] || scripts/setup.sh clang || echo "test.sh: without clang"
jobs=$(nproc)
side=$((jobs + 2)) # tests at once: many of them wait, for a program or for a second to pass
failed=""

# quietly LOG COMMAND...: shows what it said only if it failed.
quietly()
{
    log=$1
    shift
    "$@" > "$log" 2>&1 || {
        cat "$log"
        exit 1
    }
}

# launcher SANITIZER: how a program of this sanitizer has to be started here: "env" as it is,
# "setarch -R" without randomised addresses, where the runtime of this compiler has no place for the
# kernel's; nothing if it does not run at all, which some containers bring about.
launcher()
{
    echo 'int main(void) { return 0; }' > build/probe.c
    gcc "-fsanitize=$1" -o build/probe build/probe.c 2> /dev/null || return 0
    for how in env "setarch -R"; do
        tries=0
        while [ "$tries" -lt 8 ] && $how build/probe > /dev/null 2>&1; do
            tries=$((tries + 1))
        done
        if [ "$tries" -eq 8 ]; then
            echo "$how"
            return
        fi
    done
}

# run PRESET HOW: configures, builds, tests. The first preset with a failed test is kept in $failed.
run()
{
    preset=$1
    how=$2
    log=build/$preset.log
    echo "== $preset: building"
    case $preset in
    whole) quietly "$log" cmake --preset dev ;;
    *) quietly "$log" cmake --preset "$preset" ;;
    esac
    quietly "$log" cmake --build --preset "$preset" --parallel "$jobs"
    echo "== $preset: testing"
    # The status of ctest, not of tee.
    rm -f "$log.passed"
    { $how ctest --preset "$preset" --parallel "$side" < /dev/null 2>&1 && : > "$log.passed"; } |
        tee "$log"
    if [ ! -e "$log.passed" ]; then
        failed=${failed:-$preset}
    fi
    rm -f "$log.passed"
}

mkdir -p build
for preset in $presets; do
    case $preset in
    asan-ubsan) how=$(launcher address,undefined) ;;
    tsan) how=$(launcher thread) ;;
    *) how='env' ;;
    esac
    if [ -z "$how" ]; then
        echo "== $preset: left out, a program with this sanitizer does not run on this machine"
        continue
    fi
    run "$preset" "$how"
done

[ -n "$failed" ] || exit 0
if [ "$failed" != "$preset" ]; then
    echo "== failed: preset $failed"
    sed -n '/tests passed/,$p' "build/$failed.log"
fi
exit 1
