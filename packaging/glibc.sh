#!/bin/sh
# glibc.sh TREE: the newest version of glibc that an installed tree's files ask for, as "2.28". An
# error if one of them needs a library that is not part of glibc, or of Tidemark itself.
set -eu
tree=${1:?an installed tree}
files=$(find "$tree/bin" "$tree/lib" -type f | while read -r file; do
    [ "$(head -c 4 "$file" | tail -c 3)" != ELF ] || echo "$file"
done)
[ -n "$files" ] || { echo "glibc.sh: no program in $tree" >&2; exit 1; }

# shellcheck disable=SC2086
strange=$(readelf -d $files | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u |
    grep -vE '^(lib(c|m|dl|pthread|rt)\.so\.[0-9]|ld-linux-.*|libcuda\.so\.1)$' || :)
[ -z "$strange" ] || { echo "glibc.sh: needs" $strange >&2; exit 1; }

# shellcheck disable=SC2086
readelf -V $files | grep -o 'GLIBC_[0-9][0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1
