#!/bin/sh
# plan.sh PROGRAMS TIDEMARK: `tidemark plan` with a program whose memory is known: 100 MiB, and 20 and
# 2 MiB for each of its size and length, so the truth is a sum.
set -u
program=$(realpath "$1")/prog_plan
tidemark=$2
failures=0
work=$(mktemp -d) || exit 99
cd "$work" || exit 99
trap 'rm -rf "$work"' EXIT
command -v sqlite3 >/dev/null || { echo "sqlite3 is not installed"; exit 77; }

# is GOT WANT WHAT
is() {
    [ "$1" = "$2" ] && return
    echo "FAIL $3"
    echo "  want: $2"
    echo "  got:  $1"
    head -8 err 2>/dev/null | sed 's/^/  err:  /'
    failures=$((failures + 1))
}

# plan OPTIONS -- COMMAND: csv into out, messages into err, recordings into folder.
plan() {
    rm -rf folder
    "$tidemark" plan -o folder -f csv "$@" >out 2>err
    status=$?
}

# column SECTION NAME: of each row, one a line.
column() {
    awk -v section="# $1" -v name="$2" '
        $0 == section { on = 1; next }
        on && ($0 == "" || /^# /) { exit }
        on == 1 { n = split($0, names, ","); on = 2; next }
        on == 2 {
            # A field in quotes is one: no test here has a quote inside of it.
            line = $0; i = 0
            while (length(line)) {
                if (match(line, /^"[^"]*"/)) { cell = substr(line, 2, RLENGTH - 2); line = substr(line, RLENGTH + 2) }
                else { match(line, /^[^,]*/); cell = substr(line, 1, RLENGTH); line = substr(line, RLENGTH + 2) }
                if (names[++i] == name) print cell
            }
        }' out
}

says() {
    grep -q -- "$1" out err || is "$(cat out err)" "... $1 ..." "what is said"
}

# most EACH [MEMORY]: the largest size that fits if each takes so many MiB, on GPUs of the last plan.
most() {
    echo $(((room - 100) / $1))
}

# For each size 20 and 2 MiB, and 100 MiB once.
plan --memory 2GiB --vary B=1..512 -- "$program" {B} forever
is "$status" 0 "status"
room=$((($(column plan memory_bytes) - $(column plan context_bytes)) >> 20))
[ $room -gt 1024 ] && [ $room -lt 2048 ] || is $room "1024 to 2048" "what a context leaves of 2 GiB"
largest=$(most 22)
is "$(column plan largest)" "$largest" "largest"
is "$(column plan refused)" $((largest + 1)) "the next does not fit"
is "$(column plan known_by)" rehearsal "how it is known"
is "$(column plan allocated_bytes)" $(((100 + 22 * largest) << 20)) "allocated"
is "$(column plan phase)" forward "phase"
tries=$(column tries values | wc -l)
[ "$tries" -le 8 ] || is "$tries" "8 or fewer" "number of tries"
says "^# by $tries rehearsals, as on Rehearsed GPU, capability 8.0, 2048 MiB"
is "$(grep -c '^tidemark: B=' err)" "$tries" "a line for each try"
is "$(column tries result | sort -u | tr '\n' ' ')" "does not fit fits " "results"
# What was found holds, by rehearsals of their own.
"$tidemark" rehearse --gpu cc=8.0,memory=2GiB -o own.db -- "$program" "$largest" >own 2>&1
is "$?" 0 "the largest by itself"
"$tidemark" rehearse --gpu cc=8.0,memory=2GiB -o own2.db -- "$program" $((largest + 1)) >own 2>&1
is "$?" 1 "the next by itself"
# How it ended otherwise is said with its verdict.
ended() { # VERDICT COMMAND
    rm -f own3.db
    "$tidemark" rehearse --gpu t4 -o own3.db -- sh -c "$2" "$program" >/dev/null 2>own
    is "$(grep '^tidemark: ' own | tail -1 | cut -d: -f2)" " $1" "the last line after: $2"
}
ended "not known whether it fits, the run was ended by SIGTERM" '"$0" 1; kill -TERM $$'
ended "not known whether it fits, the program failed with exit status 9" '"$0" 1; exit 9'
ended "fits" '"$0" 1'
# Recordings stay, and so does what the program printed.
is "$(sqlite3 -readonly "folder/B=$largest.db" "SELECT value FROM meta WHERE key = 'finished'")" 1 \
    "the recording"
grep -q "^CUDA out of memory" "folder/B=$((largest + 1)).log" || is no yes "the next one's log"
# What grew between two tries: the larger one of two blocks.
is "$(column tries grew_category | sort -u | tail -1)" workspace "what grew"
grew=$(column tries grew_site | sort -u | tail -1)
case $grew in *"step (prog_plan.c"*) ;; *) is "$grew" "step (prog_plan.c)" "the site that grew" ;; esac

# A card by name, set aside, a range with steps, the environment.
plan --gpu t4 --reserve 1GiB --vary B=50..2000:50 --env 'SIZE={B}' -- "$program" 0 '$SIZE'
t4=$((($(column plan memory_bytes) - $(column plan context_bytes)) >> 20))
largest=$(((t4 - 1024 - 100) / 22 / 50 * 50))
is "$(column plan largest)" $largest "t4 less 1 GiB"
is "$(column plan refused)" $((largest + 50)) "the next of the range"
says "as on Tesla T4, 14.8 GiB, capability 7.5, 1024 MiB set aside"

# Nothing fits; all fits; one try is enough for the first.
plan --memory 512MiB --vary B=100..512 -- "$program" {B}
is "$status" 1 "nothing fits"
is "$(column plan result)" "does not fit" "nothing fits"
is "$(column tries values)" B=100 "one try"
plan --memory 2GiB --vary B=1..40 -- "$program" {B}
is "$status $(column plan largest) $(column plan refused)" "0 40 " "all fit"

# Without a step nothing is known of one.
plan --memory 2GiB --vary B=30,200 -- "$program" {B} few=100
says "B=200 ran no training step, and others did: what it needs is not known"
is "$(column plan largest) $(column plan refused)" "30 " "the largest that ran a step"
is "$(column tries result | tr '\n' ' ')" "fits no step " "results, without a step"
plan --memory 2GiB --vary how=half,few=1 -- "$program" 30 {how}
is "$status $(column plan result | tr '\n' ' ')" "3 fits not known " "a word with which no step runs"

# A grid: with the greater length less fits, and what did not fit is not tried again.
plan --memory 2GiB --vary T=4,1,2 --vary B=1..512 --vary how=half,full -- "$program" {B} {T} {how}
is "$status" 0 "status of a grid"
is "$(column plan values | tr '\n' ' ')" \
    "T=1, how=half T=1, how=full T=2, how=half T=2, how=full T=4, how=half T=4, how=full " "grid"
is "$(column plan largest | tr '\n' ' ')" \
    "$(most 12) $(most 22) $(most 28) $(most 48) $(most 72) $(most 112) " "a grid's answers"
for length in 2 4; do
    over=$(column tries values | awk -F'[=,]' -v t=$length -v most="$(most 12)" \
        '$2 == t && $4 > most + 1' | wc -l)
    is "$over" 0 "values over the bound at T=$length"
done
# Where the smallest does not fit with a small value, no greater one is tried.
plan --memory 512MiB --vary T=1,2 --vary B=50..90 -- "$program" {B} {T}
is "$status $(column tries values)" "1 T=1, B=50" "pruned"
is "$(column plan known_by | tr '\n' ' ')" "rehearsal smaller values " "pruned, and how that is known"
# Words only: each is tried.
plan --memory 2GiB --vary how=half,full -- "$program" "$(most 12)" {how}
is "$(column plan result | tr '\n' ' ')" "fits does not fit " "words"
# No name at all.
plan --memory 2GiB -- "$program" "$(most 22)"
is "$status $(column plan result)" "0 fits" "nothing varies"

# What comes behind the last step that counts is not looked at, whether the program was ended before
# it got there or not.
plan --memory 2GiB --vary B=1..512 --steps 3 -- "$program" {B} behind
is "$(column plan largest) $(column plan allocated_bytes)" \
    "$(most 22) $(((100 + 22 * $(most 22)) << 20))" "refused behind the steps"
rm -rf folder
"$tidemark" plan -o folder --memory 2GiB --vary B=1,2 --steps 3 -- "$program" {B} behind >table 2>err
grep -q "^only the first 3 steps of each try count: a validation" table ||
    is "$(cat table)" "only the first 3 steps" "what is behind the steps"
rm -rf folder
"$tidemark" plan -o folder --memory 8GiB --steps 3 -- "$program" 1 behind >table 2>err
grep -q "^only the first 3 steps of each try count: a validation" table ||
    is "$(cat table)" "only the first 3 steps" "a higher point behind the steps, and no refusal"
plan --memory 2GiB --steps 3 -- "$program" $(($(most 22) + 1)) goes-on behind
is "$(column plan result) $(column tries asked_bytes)" "does not fit $((2 * ($(most 22) + 1) << 20))" \
    "refused in the steps and behind them"
plan --memory 2GiB --vary B=1,2 --steps 0 -- "$program" {B} behind
is "$status" 1 "all of it is looked at"

# What --steps cut off is named, where it did.
rm -rf folder
"$tidemark" plan -o folder --memory 2GiB --vary B=1,2 --steps 2 -- "$program" {B} forever >table 2>err
grep -q "^only the first 2 steps of each try count: a validation" table ||
    is "$(cat table)" "only the first 2 steps" "steps"

# A table for people: the way first, then what fits, what was tried, notes.
rm -rf folder
"$tidemark" plan -o folder --memory 2GiB --vary B=1..512 -- "$program" {B} >table 2>err
is "$?" 0 "status of a table"
grep -q "of each try count" table && is "said" "not said" "steps of a program that ends by itself"
room=$(((2 << 10) - $(sed -n 's/^of the memory \([0-9]*\) MiB.*CUDA context.*/\1/p' table)))
is "$(sed -n '/^largest B/{n;p;}' table | awk '{ print $1, $2 }')" "$(most 22) $(($(most 22) + 1))" \
    "the row of a table"
is "$(grep -c '^Values that fit$\|^Tried$' table)" 2 "headings"
is "$(grep -c '^B=' table)" "$(grep -c '^tidemark: B=' err)" "rows of tries"
grep -q "^B=$(most 22) *fits .* 0/forward *+[0-9.]* .* workspace, step (prog_plan.c" table ||
    is "$(cat table)" "+N MiB workspace, step (prog_plan.c)" "what grew, in a table"
# The same folder again: what is there stays.
"$tidemark" plan -o folder --memory 2GiB --vary B=1..2 -- "$program" {B} >/dev/null 2>err
is "$?" 0 "a folder that is there"
[ -e folder/B=1.db ] && [ -e folder/B=1-2.db ] || is "$(ls folder)" "B=1.db and B=1-2.db" "its files"
# Without -o the folder has a name of its own.
"$tidemark" plan --memory 2GiB -- "$program" 1 >/dev/null 2>err
is "$(ls -d plan.2*-* | wc -l)" 1 "the folder's own name"
is "$(cd plan.2*-* && echo *)" "run.db run.log" "its files, where nothing varies"
# json is one object, with the same numbers.
if command -v python3 >/dev/null; then
    rm -rf folder
    "$tidemark" plan -o folder -f json --memory 2GiB --vary B=1..512 -- "$program" {B} >json 2>err
    python3 - "$(most 22)" <<'EOF' || is no yes "json"
import json, sys
told = json.load(open("json"))
row, tries = told["tables"]["plan"][0], told["tables"]["tries"]
assert row["largest"] == sys.argv[1] and row["name"] == "B", row
best = [x for x in tries if x["values"] == "B=" + row["largest"]][0]
assert best["allocated_bytes"] == row["allocated_bytes"] and best["recording"] == row["recording"]
assert all(x["result"] in ("fits", "does not fit") for x in tries), tries
assert told["notes"] and told["notes"][0].startswith("by "), told["notes"]
EOF
fi
# The fullest of several processes counts, and the refusal of any.
plan --memory 2GiB --vary B=1..512 -- sh -c '"$0" 5 & "$0" $1; status=$?; wait; exit $status' \
    "$program" {B}
is "$(column plan largest)" "$(most 22)" "several processes"
is "$(column plan allocated_bytes)" $(((100 + 22 * $(most 22)) << 20)) "the fullest of them"

# Another reason than memory is no answer: with the last words and the status.
plan --memory 2GiB --vary B=1..512 -- "$program" {B} ill=1
is "$status" 3 "all fail"
says "B=1 failed, exit status 9, but not out of memory: a size of 1 makes me ill"
is "$(column tries values)" B=1 "tries after the first failed"
plan --memory 2GiB --vary B=1..512 -- "$program" {B} ill=60
is "$status" 3 "some fail"
is "$(column plan result)" "not known" "some fail"
[ "$(column plan largest)" -lt 60 ] || is "$(column plan largest)" "less than 60" "known so far"
# A first value that fails once it has memory may fail for what it is: the second one is tried, and no third.
plan --memory 2GiB --vary B=1..512 -- "$program" {B} small=2
is "$status $(column plan largest)" "0 $(most 22)" "a first value that fails"
says "B=1 failed, exit status 9, but not out of memory: a size of 1 is too small"
is "$(column tries values | head -2 | tr '\n' ' ')" "B=1 B=2 " "which is tried then"
plan --memory 2GiB --vary B=1..512 -- "$program" {B} small=9
is "$status $(column tries values | tr '\n' ' ')" "3 B=1 B=2 " "two values that fail"
plan --memory 2GiB --vary B=1..512 --vary T=1,2 -- "$program" {B} {T} small=2
is "$status $(column plan largest | tr '\n' ' ')" "0 $(most 22) $(most 48) " "of each combination"
plan --memory $(($(column plan context_bytes | head -1) + (130 << 20))) --vary B=1..512 -- "$program" {B} small=2
is "$status $(column plan result) $(column plan refused)" "3 not known 2" "the second does not fit"
plan --memory 2GiB --vary B=1 -- "$program" {B} small=2
is "$status $(column tries values)" "3 B=1" "no second value"
plan --memory 2GiB --vary B=1..512 -- no-such-program {B}
is "$status" 3 "no such program"
says "no-such-program"

# A refusal counts, whether the program survives it or reports it.
plan --memory 2GiB --vary B=1..512 -- "$program" {B} goes-on
is "$(column plan largest)" "$(most 22)" "a program that goes on"
plan --memory 2GiB --vary B=1..512 -- "$program" {B} silent
is "$(column plan largest)" "$(most 22)" "a refusal that is printed only"

# Each GPU that is known: by rehearsal on the largest of a capability, by replay on the others.
# In hundreds, which takes half as many tries.
plan --gpu all --vary B=100..20000:100 -- "$program" {B}
is "$status" 0 "all GPUs"
for name in gpu largest memory_bytes context_bytes known_by; do column plan $name >all.$name; done
"$tidemark" rehearse --gpu list | awk 'NR > 1 && / [0-9]+\.[0-9] / { print $1 }' | sort >known
is "$(sort all.gpu)" "$(cat known)" "all of them"
paste -d' ' all.gpu all.largest all.memory_bytes all.context_bytes |
    while read -r gpu largest memory context; do
        room=$(((memory - context) >> 20))
        want=$(($(most 22) / 100 * 100))
        [ "$largest" = "$want" ] || echo "$gpu: $largest, not $want"
    done >wrong
is "$(cat wrong)" "" "the largest of each GPU"
is "$(sort -u all.known_by | tr '\n' ' ')" "rehearsal replay " "how they are known"
plan --gpu all -- "$program" 2000
is "$(column plan gpu | wc -l)" "$(wc -l <known)" "all GPUs, nothing varies"
is "$(column plan result | sort -u | tr '\n' ' ')" "does not fit fits " "some fit, others do not"
is "$(column tries gpu | sort -u | wc -l)" "$(column tries gpu | wc -l)" "one try for each capability"

# Without a GPU in it: recorded with small values, and scaled. The truth is the same sum.
plan --memory 2GiB --vary B=1..512 -- "$program" {B} host forever
is "$status" 0 "scaling"
says "^# by scaling of 4 CPU recordings"
says "^# B=1 never used the GPU: its memory on the CPU was taken (folder/B=1.log)"
is "$(column plan largest) $(column plan refused)" "$(most 22) $(($(most 22) + 1))" "scaled"
is "$(column plan known_by)" scaling "scaled, and how that is known"
is "$(column laws law | sort | tr '\n' ' ')" "constant linear linear " "laws"
plan --by scaling --memory 8GiB --vary T=1..64 -- "$program" 3 {T} host
room=$((($(column plan memory_bytes) - $(column plan context_bytes)) >> 20))
length=1
while [ $((100 + 60 * (length + 1) + 6 * (length + 1) * (length + 1))) -le $room ]; do
    length=$((length + 1))
done
is "$(column plan largest) $(column plan refused)" "$length $((length + 1))" "a parabola"
is "$(column laws law | sort | tr '\n' ' ')" "constant linear quadratic " "laws of a parabola"
plan --by scaling --memory 2GiB --vary B=1..512 -- "$program" {B} host odd
says "does not scale as a polynomial: 1 call site"
plan --by scaling --gpu all --vary B=100..20000:100 -- "$program" {B} host
is "$status $(column plan gpu | wc -l)" "0 $(wc -l <known)" "all GPUs, scaled"
is "$(column plan largest)" "$(cat all.largest)" "all GPUs, scaled, as they were rehearsed"
plan --by rehearsal --memory 2GiB --vary B=1..512 -- "$program" {B} host
is "$status" 3 "no memory of a GPU, and no other way is wanted"
says "^# the program never used the GPU, so no size .* --by scaling (folder/B=1.log)$"
is "$(column tries result) $(column plan result)" "used no GPU not known" "what never used the GPU"
is "$(grep -c ' fits' err)" 0 "fits, of what never used the GPU"
plan --memory 2GiB -- true
is "$status" 3 "a program without a GPU"
says "^# the program never used the GPU, so no size .* model.to(\"cuda\") (folder/run.log)$"
plan --memory 2GiB -- "$program" 1 unseen
is "$status $(column tries result)" "3 not known" "memory that nobody reports"
says "^# the program took GPU memory from the CUDA driver and reported no blocks"

# Ctrl-C: what was found so far is printed, and the end is that by the signal.
for who in group plan; do
    rm -rf folder
    : >err
    setsid sh -c 'exec "$@"' sh "$tidemark" plan -o folder -f csv --memory 2GiB --vary B=1..512 -- \
        "$program" {B} slow forever >out 2>err &
    sleeping=$!
    tries=0
    until [ "$(grep -c fits err)" -ge 1 ] || [ $tries -gt 3000 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    # setsid makes a group of its own where it need not fork: the plan's pid is its group's.
    if [ $who = group ]; then kill -INT -$sleeping; else kill -INT $sleeping; fi
    wait $sleeping
    is "$?" 130 "status after Ctrl-C to the $who"
    is "$(column plan result)" "not known" "after Ctrl-C to the $who"
    [ "$(column plan largest)" -ge 1 ] || is "$(column plan largest)" "1 or more" "what was found"
    says "interrupted"
done

# Mistakes.
wrong() { # WORDS OPTIONS
    words=$1
    shift
    plan "$@"
    is "$status" 2 "$words"
    says "$words"
    [ ! -e folder ] || is yes no "a folder after: $words"
}
wrong "needs --memory SIZE or --gpu NAME" --vary B=1..2 -- "$program" {B}
wrong "{B} is neither in the command nor in --env" --memory 1GiB --vary B=1..2 -- "$program" B
wrong "exclude each other" --gpu all --memory 1GiB -- "$program"
wrong "no GPU profile is called" --gpu nothing -- "$program"
wrong "is not A..B" --memory 1GiB --vary B=2..1 -- "$program" {B}
wrong "both ranges" --memory 1GiB --vary B=1..2 --vary T=1..2 -- "$program" {B} {T}
wrong "and --reserve leave nothing" --memory 1GiB --reserve 1GiB -- "$program"
wrong "needs \[--\] COMMAND" --memory 1GiB
wrong "NAME=VALUE, not" --memory 1GiB --env X -- "$program"
: >file
"$tidemark" plan -o file --memory 1GiB -- "$program" >out 2>err
is "$?" 3 "a file where the folder is to be"
says "there is a file of that name"

[ $failures -eq 0 ] && echo ok
[ $failures -eq 0 ]
