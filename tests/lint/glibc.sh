#!/bin/sh
# glibc.sh FILE MAX: fails if FILE imports a symbol of a later glibc than MAX ("2.17").
set -eu
file=$1
max=$2

# The symbols, and those requirements that no symbol carries (GLIBC_ABI_...).
table=$(objdump -T "$file")
table="$table
$(objdump -p "$file" | grep GLIBC_ABI || :)"
printf '%s\n' "$table" | awk -v max="$max" -v file="$file" '
    # "2.3.4" and "2.17" as numbers that compare.
    function number(text,    part) {
        split(text, part, ".")
        return part[1] * 1000000 + part[2] * 1000 + part[3]
    }
    /\*UND\*/ && match($0, /GLIBC_[0-9.]+/) {
        imports++
        version = substr($0, RSTART + 6, RLENGTH - 6)
        if (number(version) > number(max)) {
            printf "%s imports %s of glibc %s, later than %s\n", file, $NF, version, max
            late++
        } else if (number(version) > number(newest)) {
            newest = version
        }
    }
    /GLIBC_(PRIVATE|ABI)/ { printf "%s imports %s\n", file, $0; late++ }
    END {
        if (!imports) { printf "%s imports nothing from glibc: not what was meant\n", file; exit 1 }
        if (late) exit 1
        printf "%s: %d imports, the newest of glibc %s\n", file, imports, newest
    }'
