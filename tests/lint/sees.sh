#!/bin/sh
# sees.sh ROOT CC FOLDER PATHS "FOLDER ...": compiled with the include paths that stand in the file
# PATHS, one on each line, no header of a folder is found but those of the folders listed. As the
# control, a header of each folder listed is found, and compiles.
set -eu
. "$(dirname "$0")/common.sh"
cc=${2:?a C compiler}
folder=${3:?a folder}
paths=${4:?the file with the include paths}
sees=" ${5:?the folders that are seen} "

set --
while read -r path; do
    [ -z "$path" ] || set -- "$@" -I "$path"
done < "$paths"

# try HEADER: compiles a file of one include; what is said is in $report.said. "-" as the file's
# name: the folder that we stand in is no include path, and neither is the header's own.
try()
{
    name=${1##*/}
    shift
    echo "#include \"$name\"" |
        (cd / && "$cc" "$@" -std=c11 -D_GNU_SOURCE -fsyntax-only -x c -) > "$report.said" 2>&1
}

count=0
for other in $product; do
    found=0
    for header in "$other"/*.h; do
        [ -f "$header" ] || continue
        count=$((count + 1))
        case $sees in
        *" $other "*) ! try "$header" "$@" || found=$((found + 1)) ;;
        *)
            if try "$header" "$@" || ! grep -q '^<stdin>:1:.*error' "$report.said"; then
                echo "$folder/ can include $header" >> "$report"
            fi
            ;;
        esac
    done
    case $sees in
    *" $other "*) [ "$found" -gt 0 ] || echo "$folder/ cannot include $other/" >> "$report" ;;
    esac
done
rm -f "$report.said"
finish "$count" "headers tried from $folder/"
