#!/bin/sh
# commands.sh ROOT: setup.sh and test.sh, with all that they call replaced by stand-ins that keep a
# diary: what is installed and when, what fails, how it ends.
set -eu
root=${1:?the root of the tree}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/bin
diary=$work/diary
failed=0
checks=0

# stand_in NAME: a command with this body (from stdin).
stand_in()
{
    { echo '#!/bin/sh' && cat; } > "$bin/$1"
    chmod +x "$bin/$1"
}

# An empty machine: the plain tools under their own names, and what test.sh and setup.sh want there.
machine()
{
    rm -rf "$bin" "$diary" "$work/tree"
    mkdir -p "$bin" "$work/tree/scripts"
    : > "$diary"
    cp "$root/scripts/setup.sh" "$root/scripts/test.sh" "$work/tree/scripts/"
    for tool in sh cat cp mktemp rm mkdir tail tee sed env dirname; do
        ln -s "$(command -v "$tool")" "$bin/$tool"
    done
    for tool in cmake ninja gcc sqlite3 objdump python3 groff zsh clang; do
        printf 'exit 0\n' | stand_in "$tool"
    done
    echo 'echo 2' | stand_in nproc
    echo 'echo 0' | stand_in id
    stand_in apt-get << END
echo "apt-get \$*" >> "$diary"
[ "\$1" != install ] || [ ! -e "$work/broken" ] || { echo "E: broken"; exit 100; }
[ "\$1" != install ] || [ -e "$work/useless" ] ||
    for name in cmake ninja; do cp "$bin/id" "$bin/\$name"; done
END
    rm -f "$work/broken" "$work/useless"
}

# expect RESULT WORDS SCRIPT [ARG]: exit status and a part of what it says; "" = nothing at all.
expect()
{
    result=$1
    words=$2
    script=$3
    shift 3
    checks=$((checks + 1))
    got=0
    said=$(PATH=$bin sh "$work/tree/scripts/$script" "$@" 2>&1 < /dev/null) || got=$?
    right=0
    case $said in *"$words"*) right=1 ;; esac
    [ -n "$words" ] || [ -z "$said" ] || right=0
    if [ "$got" -ne "$result" ] || [ "$right" -eq 0 ]; then
        failed=$((failed + 1))
        echo "$script $*: exit $got, expected $result with \"$words\"; it said: $said"
    fi
}

# wrote LINES: the diary, line ends as |.
wrote()
{
    checks=$((checks + 1))
    got=$(tr '\n' '|' < "$diary")
    [ "$got" = "$1" ] || { failed=$((failed + 1)); echo "diary \"$got\", expected \"$1\""; }
}

# ---- setup.sh ----

machine # nothing is missing: silent, and apt-get is not even asked
expect 0 "" setup.sh
wrote ""

machine
rm "$bin/cmake" "$bin/ninja"
expect 0 "installing from Debian's packages: cmake ninja-build" setup.sh
wrote "apt-get update|apt-get install -y --no-install-recommends cmake ninja-build|"
expect 0 "" setup.sh

machine
rm "$bin/cmake"
touch "$work/broken"
expect 1 "E: broken" setup.sh

machine
rm "$bin/cmake"
touch "$work/useless"
expect 1 "still not to be found: cmake" setup.sh

machine
rm "$bin/cmake" "$bin/apt-get"
expect 1 "please install what Debian calls: cmake" setup.sh

machine # a user without sudo
rm "$bin/cmake"
echo 'echo 1000' | stand_in id
expect 1 "as root, please: apt-get install cmake" setup.sh
wrote ""

machine # and with it
rm "$bin/cmake"
echo 'echo 1000' | stand_in id
printf 'echo "sudo $1" >> %s\nexec "$@"\n' "$diary" | stand_in sudo
expect 0 "installing" setup.sh
wrote "sudo apt-get|apt-get update|sudo env|apt-get install -y --no-install-recommends cmake|"

# ---- test.sh ----

# A ctest that says its summary, and fails for the preset that $work/fails names.
tests_machine()
{
    machine
    echo "$1" > "$work/fails"
    printf 'echo "cmake $*" >> %s\n' "$diary" | stand_in cmake
    stand_in ctest << END
echo "ctest \$2" >> "$diary"
if [ "\$2" = "\$(cat "$work/fails")" ]; then
    echo "50% tests passed, 1 tests failed out of 2"
    echo "Errors while running \$2"
    exit 8
fi
echo "100% tests passed, 0 tests failed out of 2"
echo "summary of \$2"
END
    # A "compiler" whose programs run.
    stand_in gcc << END
while [ "\$1" != -o ]; do shift; done
cp "$bin/nproc" "\$2"
END
}

# ends LINE STATUS [ARG]: the last line that test.sh prints, and its status.
ends()
{
    wanted=$1
    result=$2
    shift 2
    checks=$((checks + 1))
    got=0
    said=$(PATH=$bin sh "$work/tree/scripts/test.sh" "$@" 2>&1 < /dev/null) || got=$?
    last=$(printf '%s\n' "$said" | tail -n 1)
    if [ "$last" != "$wanted" ] || [ "$got" -ne "$result" ]; then
        failed=$((failed + 1))
        echo "test.sh $*: exit $got, last line \"$last\", expected $result and \"$wanted\""
        printf '%s\n' "$said"
    fi
}

# suites WANTED: those that ran, in this order.
suites()
{
    checks=$((checks + 1))
    [ "$(grep ctest "$diary" | tr '\n' ' ')" = "$1" ] && return
    failed=$((failed + 1))
    echo "other suites ran than \"$1\":"
    cat "$diary"
}

tests_machine none
ends "summary of dev" 0
suites "ctest dev "
tests_machine none
ends "summary of dev" 0 --quick
suites "ctest dev "
tests_machine none
ends "summary of whole" 0 --all
suites "ctest asan-ubsan ctest tsan ctest whole "
tests_machine dev
ends "Errors while running dev" 1
for preset in asan-ubsan tsan whole; do
    tests_machine "$preset"
    ends "Errors while running $preset" 1 --all
done
tests_machine none # what a few tests want cannot be had: they are skipped
rm "$bin/groff"
touch "$work/broken"
ends "summary of dev" 0 --quick
tests_machine none # a build that fails
printf 'echo "no rule"\nexit 1\n' | stand_in cmake
ends "no rule" 1
tests_machine none # a sanitizer that does not run here is left out, and said so
printf 'exit 1\n' | stand_in gcc
ends "summary of whole" 0 --all
expect 0 "tsan: left out" test.sh --all
expect 2 "usage: " test.sh --slow

[ "$failed" -eq 0 ] || { echo "$failed of $checks checks failed"; exit 1; }
echo "$checks checks: setup.sh and test.sh do what they say"
