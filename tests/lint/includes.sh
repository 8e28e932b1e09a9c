#!/bin/sh
# includes.sh ROOT [ROOMS]: an include leads from a room to itself or to one that it may see; ROOMS is
# the table (rooms.txt). CMake's private include paths hold most of this; here it also holds for "../",
# for the table itself, which has each room once, below all that it sees, and for the libraries that
# have one door.
set -eu
. "$(dirname "$0")/common.sh"
rooms=${2:-$here/rooms.txt}

files "$product samples tests" '*.c' '*.h' '*.cu' '*.cc' > "$report.list"
grep -n '^[ \t]*#[ \t]*include' /dev/null $(cat "$report.list") > "$report.includes" || :
awk '
    # The room with the longest name that the path begins with.
    function room_of(path) {
        sub(/\/[^\/]*$/, "", path)
        while (!(path in sees) && sub(/\/[^\/]*$/, "", path)) { }
        return path in sees ? path : ""
    }
    function base_of(path) { sub(/.*\//, "", path); return path }
    function complain(text) { printf "%s:%s: %s\n", file, line, text }
    function may(from, to) {
        return from == to || from == "tests" || index(" " sees[from] " ", " " to " ") > 0
    }
    # A line of the table.
    function add_room(text,    name, count, part, i) {
        file = "rooms.txt"
        line = FNR
        name = text
        sub(/:.*/, "", name)
        sub(/ .*/, "", name)
        if (name in sees) complain(name " stands there twice")
        sub(/[^:]*:[ ]*/, "", text)
        count = split(text, part, " ")
        for (i = 1; i <= count; i++)
            if (!(part[i] in sees)) complain(name " sees " part[i] ", which does not stand above it")
        sees[name] = text
    }

    FILENAME ~ /rooms[^\/]*$/ {
        if ($0 !~ /^#/ && NF) add_room($0)
        next
    }
    FILENAME ~ /\.list$/ { # which rooms have a header of this name
        if (!("tests" in sees)) sees["tests"] = ""
        if ($0 ~ /\.h$/) has[base_of($0)] = has[base_of($0)] " " room_of($0)
        if (room_of($0) == "") {
            file = $0
            line = 1
            complain("in no room of rooms.txt")
        }
        next
    }

    {
        split($0, part, ":")
        file = part[1]
        line = part[2]
        from = room_of(file)
        if (from == "") next # that is said already
        if (match($0, /"[^"]+"/)) {
            header = base_of(substr($0, RSTART + 1, RLENGTH - 2))
            count = split(has[header], folders, " ")
            seen = 0
            for (i = 1; i <= count; i++)
                if (may(from, folders[i])) seen = 1
            if (count && !seen)
                complain("includes " header " of" has[header] ", which " from "/ may not see")
        } else if (match($0, /<[^>]+>/)) {
            header = substr($0, RSTART + 1, RLENGTH - 2)
            if (header ~ /^sqlite3/ && file !~ /^schema\/db[a-z_]*\.c$/ && from != "tests")
                complain("only schema/db*.c includes " header)
            if (header ~ /^(cuda|cupti|cudnn|cublas|nccl|nvtx|nvToolsExt|generated_cuda)/ &&
                from !~ /^profiler/ && file !~ /^samples\/cuda\// && from != "tests")
                complain("only profiler/ and samples/cuda/ include " header)
        }
    }' "$rooms" "$report.list" "$report.includes" > "$report"
count=$(wc -l < "$report.includes")
rm -f "$report.list" "$report.includes"
finish "$count" "includes that point down"
