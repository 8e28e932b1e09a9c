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

# One line for each header: "ROOM ROOM/HEADER", in the table's order.
sed -n 's/^\([a-z][^ :]*\).*/\1/p' "$rooms" | while read -r other; do
    for header in "$other"/*.h; do
        [ ! -e "$header" ] || echo "$other $header"
    done
done > "$report.headers"
count=$(wc -l < "$report.headers")

# Those of which the preprocessor finds one of that name, all asked at once.
while read -r other header; do
    printf '#if __has_include("%s")\n%s %s\n#endif\n' "${header##*/}" "$other" "$header"
done < "$report.headers" | (cd / && "$cc" "$@" -std=c11 -E -P -x c -) > "$report.found"

# The first of each room, taken together: who is among what was taken need not be asked alone.
awk '!had[$1]++ { sub(/.*\//, "", $2); printf "#include \"%s\"\n", $2 }' "$report.found" |
    (cd / && "$cc" "$@" -std=c11 -D_GNU_SOURCE -M -x c -) 2> /dev/null |
    tr -s ' \\' '\n' | sort -u > "$report.taken"

# One line for each room with headers: "ROOM HEADER" if one was taken, "ROOM -" if none is found, and
# "ROOM ?" if one has to be asked alone.
awk '
    function was_taken(header,    tail, i) {
        tail = "/" header
        for (i = 1; i <= count; i++)
            if (substr(path[i], length(path[i]) - length(tail) + 1) == tail) return 1
        return 0
    }
    FILENAME ~ /\.taken$/ { path[++count] = $0; next }
    FILENAME ~ /\.found$/ { if (!($1 in first)) first[$1] = $2; next }
    !had[$1]++ { print $1, !($1 in first) ? "-" : was_taken(first[$1]) ? first[$1] : "?" }
    ' "$report.taken" "$report.found" "$report.headers" > "$report.rooms"

while read -r other seen; do
    if [ "$seen" = "?" ]; then
        seen=-
        for header in $(awk -v room="$other" '$1 == room { print $2 }' "$report.found"); do
            ! takes "$header" "$@" || { seen=$header && break; }
        done
    fi
    case "$sees,$seen" in
    *" $other "*,-) echo "$room/ cannot include $other/" >> "$report" ;;
    *" $other "*,*) ;;
    *,-) ;;
    *) echo "$room/ can include $seen" >> "$report" ;;
    esac
done < "$report.rooms"
rm -f "$report".*
finish "$count" "headers tried from $room/"
