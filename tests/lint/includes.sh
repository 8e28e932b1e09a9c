#!/bin/sh
# includes.sh ROOT: an include points down only. CMake's private include paths hold most of this;
# here it also holds for "../" and for the libraries that have one door.
set -eu
. "$(dirname "$0")/common.sh"

files "$product samples tests" '*.c' '*.h' '*.cu' '*.cc' > "$report.list"
grep -n '^[ \t]*#[ \t]*include' /dev/null $(cat "$report.list") > "$report.includes" || :
awk '
    # allocator/wrap/ is a folder of its own: it sees what allocator/ may not.
    function folder_of(path) {
        if (path ~ /^allocator\/wrap\//) return "wrap"
        sub(/\/.*/, "", path)
        return path
    }
    function base_of(path) { sub(/.*\//, "", path); return path }
    function complain(text) { printf "%s:%s: %s\n", file, line, text }
    function may(from, to) { return from == to || index(" " sees[from] " ", " " to " ") > 0 }

    BEGIN {
        sees["include"] = ""
        sees["base"] = ""
        sees["ring"] = "base"
        sees["allocator"] = "base"
        sees["wrap"] = "allocator base include"
        sees["profiler"] = "ring allocator base include"
        sees["schema"] = "base"
        sees["recorder"] = "ring allocator schema base"
        sees["viewer-cli"] = "recorder rehearsal allocator schema base"
        sees["rehearsal"] = "base"
        sees["samples"] = "include"
        everything = "include base ring allocator wrap profiler schema recorder viewer-cli rehearsal samples"
        sees["tests"] = everything
    }

    # Which folders have a header of this name.
    FNR == NR {
        if ($0 ~ /\.h$/) has[base_of($0)] = has[base_of($0)] " " folder_of($0)
        next
    }

    {
        split($0, part, ":")
        file = part[1]
        line = part[2]
        from = folder_of(file)
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
                from != "profiler" && file !~ /^samples\/cuda\// && from != "tests")
                complain("only profiler/ and samples/cuda/ include " header)
        }
    }' "$report.list" "$report.includes" > "$report"
count=$(wc -l < "$report.includes")
rm -f "$report.list" "$report.includes"
finish "$count" "includes that point down"
