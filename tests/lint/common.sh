# common.sh - what the lints share. Sourced, not run. A lint prints "file:line: what" for each thing
# that is wrong and exits 1, or one line with what it looked at and exits 0; 77 = not possible here.
# Its first argument is the root of the tree, so that its own test can give it another one.
# shellcheck shell=sh disable=SC2034
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:?the root of the tree}" || exit 99

# The folders that are shipped, lowest layer first.
product="include base ring allocator profiler python schema store recorder viewer-cli rehearsal"

# files "FOLDERS" PATTERN...: the files under these folders whose names match, sorted.
files()
{
    folders=""
    for folder in $1; do
        [ ! -d "$folder" ] || folders="$folders $folder"
    done
    shift
    set -f
    names=""
    for pattern in "$@"; do
        names="$names -o -name $pattern"
    done
    # shellcheck disable=SC2086
    [ -z "$folders" ] || find $folders -type f \( ${names# -o } \) | sort
    set +f
}

# tree_git ARG...: git on this tree, whoever owns it.
tree_git()
{
    git -c "safe.directory=$(pwd -P)" "$@" 2> /dev/null
}

# every_file: all that git tracks; outside of a checkout all that is there but build folders.
every_file()
{
    tree_git ls-files | grep . ||
        find . -name build -prune -o -name .git -prune -o -type f -print | sed 's|^\./||' | sort
}

# finish COUNT TEXT: the end of a lint whose complaints are in $report.
finish()
{
    if [ -s "$report" ]; then
        cat "$report"
        exit 1
    fi
    echo "$2: $1"
    exit 0
}

report=$(mktemp)
trap 'rm -f "$report"' EXIT
