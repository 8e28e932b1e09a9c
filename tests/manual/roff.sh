#!/bin/sh
# roff.sh MADE: the man pages are clean where groff, man or mandoc are there to say so.
set -u
made=${1:?the folder with man1/}
said=$(mktemp) || exit 99
trap 'rm -f "$said"' EXIT
failed=0 tools="" count=0

# clean TOOL PAGE WORDS...: the words print nothing on stderr, and end well.
clean()
{
    tool=$1 page=$2
    shift 2
    if ! "$@" > /dev/null 2> "$said" || [ -s "$said" ]; then
        failed=1
        echo "$tool does not like $page:"
        cat "$said"
    fi
}

has()
{
    command -v "$1" > /dev/null || return 1
    case " $tools " in *" $1 "*) ;; *) tools="$tools $1" ;; esac
}

for page in "$made"/man1/*.1; do
    [ -e "$page" ] || { echo "no pages in $made/man1"; exit 99; }
    count=$((count + 1))
    if has groff; then
        clean groff "$page" groff -ww -man -Tutf8 -rCHECKSTYLE=0 "$page"
    fi
    # Where documentation is left out of an image, `man` is a script that says so.
    if man --version 2> /dev/null | grep -q '^man [0-9]' && has man; then
        clean man "$page" env MANPAGER=cat MANROFFSEQ= LC_ALL=C.UTF-8 MANWIDTH=80 \
            man --warnings=all -l "$page"
    fi
    if has mandoc; then
        # Pages have no date: they are made by every build, and builds are to be equal.
        mandoc -Tlint -W warning "$page" 2>&1 | grep -v 'missing date' > "$said"
        if [ -s "$said" ]; then
            failed=1
            cat "$said"
        fi
    fi
done
if [ -z "$tools" ]; then
    echo "skipped: neither groff nor man nor mandoc is here"
    exit 77
fi
echo "$count pages, looked at by:$tools"
exit "$failed"
