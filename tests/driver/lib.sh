# lib.sh - for the shell tests of drivers that only pretend. $tidemark is the command; sourced, it gives
# a folder to work in that goes away at the end, and a few words to check with.

command -v awk >/dev/null || { echo "awk is not installed"; exit 77; }
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
failures=0

is() # GOT WANT WHAT
{
    [ "$1" = "$2" ] && return
    printf 'FAIL %s\n  want: %s\n  got:  %s\n' "$3" "$2" "$1"
    failures=$((failures + 1))
}

ask()
{
    "$tidemark" sql run.db "$1" --format csv | tail -n +2 | tr -d '"'
}
