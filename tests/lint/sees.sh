#!/bin/sh
# sees.sh ROOT CC ROOM PATHS [ROOMS]: compiled with the include paths that stand in the file PATHS, one
# on each line, no header of a room is found but those of the room and of what it may see, by the table
# ROOMS (rooms.txt). As the control, a header of each of these is found, and compiles.
set -eu
. "$(dirname "$0")/common.sh"
cc=${2:?a C compiler}
room=${3:?a room}
paths=${4:?the file with the include paths}
rooms=${5:-$here/rooms.txt}
sees=$(awk -v room="$room" '!/^#/ && $1 ~ "^" room ":?$" { sub(/^[^:]*:/, ""); print room, $0 }' "$rooms")
[ -n "$sees" ] || { echo "no room $room in $rooms" && exit 1; }
sees=" $sees "

set --
while read -r path; do
    [ -z "$path" ] || set -- "$@" -I "$path"
done < "$paths"

# takes HEADER: a file of one include compiles, and what it took is this header, not another's or the
# system's of the same name. "-" as the file's name: the folder that we stand in is no include path,
# nor the header's own.
takes()
{
    header=$1
    shift
    echo "#include \"${header##*/}\"" |
        (cd / && "$cc" "$@" -std=c11 -D_GNU_SOURCE -M -x c -) > "$report.said" 2>&1 &&
        tr -s ' \\' '\n' < "$report.said" | grep -q "/$header\$"
}

# found HEADER...: those of which the preprocessor finds one of that name, all asked at once.
found()
{
    for header in $headers; do
        printf '#if __has_include("%s")\n"%s"\n#endif\n' "${header##*/}" "$header"
    done | (cd / && "$cc" "$@" -std=c11 -E -P -x c -) | tr -d '"'
}

count=0
for other in $(sed -n 's/^\([a-z][^ :]*\).*/\1/p' "$rooms"); do
    headers=$(find "$other" -maxdepth 1 -name '*.h' 2> /dev/null | sort)
    [ -n "$headers" ] || continue
    count=$((count + $(echo "$headers" | wc -l)))
    seen=""
    for header in $(found "$@"); do
        ! takes "$header" "$@" || { seen=$header && break; }
    done
    case $sees in
    *" $other "*) [ -n "$seen" ] || echo "$room/ cannot include $other/" >> "$report" ;;
    *) [ -z "$seen" ] || echo "$room/ can include $seen" >> "$report" ;;
    esac
done
rm -f "$report.said"
finish "$count" "headers tried from $room/"
