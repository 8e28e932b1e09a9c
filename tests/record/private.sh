#!/bin/sh
# --private: what a file that is given away does not tell.
. "$(dirname "$0")/lib.sh"

# told: what of it can be found in the file, as text or as bytes.
told() {
    host=$(uname -n)
    [ ${#host} -ge 8 ] || host=$work # a short one may stand anywhere
    for word in "$work" "$programs" "$host" /usr/ /bin/ --secret sesame /data/ ann@ faraway; do
        sqlite3 -readonly -batch run.db .dump | grep -qF -e "$word" && echo "$word"
        grep -qaF -e "$word" run.db && echo "$word in the bytes"
    done
}

export TIDEMARK_COMMIT=c0ffee-of-the-program
record -- "$story" begin /data/ann/secret/train.py alloc 3 end begin train/loss alloc 1 end exit 3
is $status 3 "the exit status"
is "$(ask "SELECT value FROM meta WHERE key='commit'")" c0ffee-of-the-program "the commit"
is "$([ -n "$(told)" ] && echo some)" some "a usual recording tells of paths"

record -p -- "$story" begin /data/ann/secret/train.py alloc 3 end begin train/loss alloc 1 end exit 3
is $status 3 "the exit status"
finished
is "$(told)" "" "what is told"
is "$(ask "SELECT group_concat(name) FROM phase WHERE kind='user'")" "train.py,train/loss" "the phases"
is "$(ask "SELECT count(*) FROM process WHERE argv IS NOT NULL OR host IS NOT NULL")" 0 "rows of processes"
is "$(ask "SELECT group_concat(key) FROM meta WHERE key IN ('command','cwd','host','record_command','commit')")" "" \
    "facts of the run"
is "$(ask "SELECT value FROM meta WHERE key='private'")" 1 "that it is private"
is "$(ask 'SELECT count(*) FROM allocation')" 4 "blocks"

# Names that are paths elsewhere; what can be a name as well stays.
record -p -- "$story" begin file:///data/ann/q alloc 3 end begin ann@faraway:/srv/s alloc 1 end \
    begin tcp://faraway:29500 alloc 1 end begin home/rel alloc 1 end exit 3
finished
is "$(told)" "" "what is told of other places"
is "$(ask "SELECT group_concat(name) FROM phase WHERE kind='user'")" "q,s,tcp:,home/rel" "the phases"

# Reasons name programs by their last part.
record -p -- "$programs/prog_static" --secret sesame exit 6
is "$(told)" "" "what is told of a program that took no part"
is "$(ask "SELECT why_not LIKE '%linked statically%' FROM process")" 1 "its reason"
end_of_tests
