#!/bin/sh
# judge.sh PROGRAMS TIDEMARK: what reports, check, fit and plan make of a rehearsal: the share of it
# that is a model, values that were not computed, a GPU that refused. The program's memory is known:
# 100 MiB, and 22 MiB for each of its size.
set -u
program=$(realpath "$1")/prog_plan
tidemark=$(realpath "$2")
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
    failures=$((failures + 1))
}

# has FILE TEXT WHAT
has() {
    grep -qF -- "$2" "$1" || is "$(cat "$1")" "... $2 ..." "$3"
}

# has_not FILE TEXT WHAT
has_not() {
    ! grep -qF -- "$2" "$1" || is "$(cat "$1")" "without $2" "$3"
}

# rehearse NAME OPTIONS -- COMMAND: into NAME.db.
rehearse() {
    name=$1
    shift
    "$tidemark" rehearse -o "$name.db" "$@" >"$name.out" 2>"$name.err"
    status=$?
}

# run COMMAND ...: of tidemark; into out and err.
run() {
    "$tidemark" "$@" >out 2>err
    status=$?
}

rehearse plain --gpu t4 -- "$program" 10
rehearse reads --gpu a100-40gb -- "$program" 10 sizes numbers libraries
rehearse full --gpu t4 --memory 2GiB -- "$program" 100
is "$status" 1 "a program that was refused"

# ---- what is a model ----

# A T4's context is computed, an A100's was measured (docs/gpu-profiles.md).
run peak plain.db --all
has out "max device used 400 MiB: 320 MiB max reserved, 80.0 MiB CUDA context (by a rule)" "the share"
has_not out "tidemark help rehearse" "nothing is to be explained"
run peak reads.db --all
has out "max device used 738 MiB: 320 MiB max reserved, 418 MiB CUDA context (measured)" "measured"
has out "1 size came from a value that is not computed, taken as 0: nonzero" "a size"
has out "1 number that the program read is not computed, and was 0: copy" "a number"
has out "1 size of a library's working memory is not known, taken as 0: cudnnGetConv" "a library"
has out "what that means: tidemark help rehearse" "where that is explained"
run help rehearse
has out "was read" "the explanation"
run peak -f csv reads.db
has out "# max device used 738 MiB" "in csv"
run peak -f json reads.db
if command -v python3 >/dev/null; then
    python3 - <<'PY' || is no yes "json"
import json
row, = json.load(open("out"))["tables"]["rehearsal"]
assert row["context_bytes"] == row["modelled_bytes"] == 438304768, row
assert row["peak_bytes"] - row["context_bytes"] == 320 << 20, row
assert abs(row["modelled_share"] - row["modelled_bytes"] / row["peak_bytes"]) < 1e-6, row
assert row["context_from"].startswith("measured"), row
assert [row[x] for x in ("sizes_not_computed", "library_sizes_not_known", "outside_not_known",
                         "numbers_not_computed")] == [1, 1, 0, 1], row
PY
    "$tidemark" diff -f json plain.db reads.db >out
    python3 -c 'import json
rows = json.load(open("out"))["tables"]["rehearsal"]
assert [x["database"] for x in rows] == ["plain.db", "reads.db"], rows' || is no yes "json of two"
fi
# A library's size that a formula has is no unknown one: 48 KiB for each of 108 multiprocessors.
rehearse models --gpu a100-40gb -- "$program" 10 models
is "$(tail -1 models.err)" "tidemark: fits: peak 320 MiB reserved of 39.0 GiB usable on a100-40gb" "a model's size"
grep -q "^states 5308416$" models.out || is no yes "the size by the formula"
run peak models.db --all
has out "1 size of a library's working memory is modelled, measured on an H200 with cuDNN 9.19, taken for others: \
cudnnDropoutGetStatesSize" "that it is modelled"
has_not out "not known, taken as 0" "and known"
has out "what that means: tidemark help rehearse" "where modelled sizes are explained"
run check models.db --max-peak 400MiB
is "$status" 0 "a model's size is no unknown one for check"
if command -v python3 >/dev/null; then
    run peak -f json models.db
    python3 -c 'import json
row, = json.load(open("out"))["tables"]["rehearsal"]
assert (row["library_sizes_modelled"], row["library_sizes_not_known"]) == (1, 0), row' || is no yes "json"
fi
has_not out "cudnn.benchmark" "no kernels were tried"
cp models.db trials.db
sqlite3 trials.db "UPDATE mark SET name = 'modelled cudnn.benchmark trials' WHERE name LIKE 'modelled %'"
for all in "" --all; do
    # shellcheck disable=SC2086
    run peak trials.db $all
    has out "1 workspace of cudnn.benchmark by a model (6 programs: reserved within 8 %)" "trials $all"
done
# A recording that was made before the context was written down.
cp plain.db old.db
sqlite3 old.db "DELETE FROM meta WHERE key LIKE 'rehearsal_context%' OR key = 'rehearsal_memory'"
run peak old.db
is "$status" 0 "an old recording"
has_not out "CUDA context" "an old recording"

# ---- how a rehearsal ends ----

# last NAME: the last line of what tidemark said.
last() {
    tail -1 "$1.err"
}

is "$(last plain)" "tidemark: fits: peak 320 MiB reserved of 14.7 GiB usable on t4" "a run that fits"
is "$(last reads)" "tidemark: fits: peak 320 MiB reserved of 39.0 GiB usable on a100-40gb, with 2 uncomputed \
values and 1 unknown library size taken as 0" "a run with unknown values"
is "$(last full)" "tidemark: does not fit: 2000 MiB refused in step 0, forward on t4" "a refusal"
rehearse ill --gpu t4 -- "$program" 10 ill=1
is "$(last ill)" "tidemark: not known whether it fits: no blocks were recorded on t4" "no blocks"
rehearse stopped --gpu t4 --steps 3 -- "$program" 10 forever
is "$status" 0 "ended by --steps"
is "$(last stopped)" "tidemark: fits: peak 320 MiB reserved of 14.7 GiB usable on t4" "ended by --steps"
is "$(grep -c '^tidemark: 3 steps done: ending the program (SIGINT), as --steps asks$' stopped.err)" 1 \
    "that the end was asked for"
# A shell's child in the background ignores SIGINT.
rehearse talks --gpu t4 --steps 3 -- sh -c '"$0" 10 forever &
    trap "echo interrupted >&2; kill $!; exit 1" INT; wait' "$program"
is "$(grep -n -e 'steps done' -e '^interrupted' talks.err | sed 's/.*\(done\|interrupted\).*/\1/' |
    tr '\n' ' ')" "done interrupted " "said before the program says anything"

# ---- kernels ----

# Of capability 8.0, and later ones of the same major number.
missing="prog_kernels has no kernels for capability 7.5: on a real Tesla T4 this run fails at its first kernel; it has 8.0"
rehearse kernels --gpu t4 -- "${program%/*}/prog_kernels" 10
is "$status" 0 "a rehearsal needs none"
is "$(head -1 kernels.err)" "tidemark: warning: $missing" "said before it runs"
is "$(last kernels)" "tidemark: fails at its first kernel, for it has none: peak 320 MiB reserved of 14.7 GiB \
usable on t4" "and at the end"
run peak kernels.db --all
is "$(sed -n 2p out)" "$missing" "and by each report"
rehearse kernels8 --gpu a10 -- "${program%/*}/prog_kernels" 10
is "$(last kernels8)" "tidemark: fits: peak 320 MiB reserved of 21.8 GiB usable on a10" "capability 8.6"
run plan -o kernels --gpu t4,a10 --vary B=1..10 -- "${program%/*}/prog_kernels" {B}
is "$status" 0 "one of two has kernels"
is "$(sed -n '/^Tried/,$d; s/^t4 .*GiB *//p' out | cut -c1-10)" "no kernels" "in the row of a plan"
has out "$missing" "below it"
run fit kernels8.db --gpu a100-40gb,t4,h100-80gb
is "$status" 0 "fit: one of three has kernels"
is "$(awk '/^(t4|a100|h100)/ { print $1, $(NF - 1), $NF }' out | tr '\n' ' ')" \
    "t4 no kernels a100-40gb MiB fits h100-80gb no kernels " "fit on several GPUs"
run fit kernels8.db --gpu t4
is "$status $(sed -n 's/^verdict  *//p' out)" "1 no kernels" "fit on one"
run plan -o kernels-t4 --gpu t4 -- "${program%/*}/prog_kernels" 10
is "$status" 1 "none fits"

# ---- check ----

# row CHECK: its result and why, of the csv in out.
row() {
    awk -F, -v name="$1" '$4 == name { gsub(/"/, ""); print $3 ": " $NF }' out | head -1
}

run check -f csv plain.db --max-peak 400MiB --max-reserved 400MiB --no-oom --no-lost
is "$status" 0 "all is known"
run check -f csv reads.db --max-peak 400MiB --max-reserved 400MiB --no-oom --no-lost
is "$status" 1 "sizes that are not computed"
for name in max-peak max-reserved no-oom; do
    is "$(row $name)" "not known: sizes that a rehearsal does not compute were taken as 0" "$name"
done
is "$(row no-lost | cut -c1-6)" passed "what a size does not move"
run check reads.db --max-peak 400MiB --allow-unknown
is "$status" 0 "--allow-unknown"
run check -f csv reads.db --max-peak 300MiB --allow-unknown
is "$status $(row max-peak | cut -c1-6)" "1 FAILED" "above the limit it is above all the same"
rehearse asks --gpu t4 -- "$program" 10 libraries both
run check asks.db --max-peak 400MiB --device cuda:0
has out "sizes of libraries' memory are not known in a rehearsal, taken as 0" "a library's"
run check asks.db --max-peak 400MiB --device cpu
is "$status" 0 "the host's memory is none of a library's"
rehearse counts --gpu t4 -- "$program" 10 numbers
run check counts.db --max-peak 400MiB
has out "numbers that a rehearsal does not compute were read, as 0" "numbers"
run check plain.db --baseline counts.db --max-increase 10%
has out "numbers that a rehearsal does not compute were read, as 0" "of the baseline"

# Two GPUs are no baseline of each other; one is.
run check plain.db --baseline full.db --max-increase 1000%
has out "the baseline is of another GPU: Tesla T4, 2048 MiB, capability 7.5; here: Tesla T4, 14.8" "GPUs"
run check plain.db --baseline plain.db --max-increase 0%
has_not out "another GPU" "the same GPU"

# What a GPU refused is not the CPU's.
rehearse refused --gpu t4 --memory 2GiB -- "$program" 100 both
run check refused.db --no-oom --max-peak 2GiB
is "$status" 1 "a refusal"
is "$(awk '/^Limits of/ { what = $0; sub(/ .pid [0-9]*./, "", what) } /no-oom/ { print what }' out)" \
    "Limits of process 1" "the heading above what was refused"
has out "2000 MiB was refused on cuda:0" "where it was refused"

# ---- plan ----

# column NAME: of the section plan, in the csv in out.
column() {
    awk -F, -v name="$1" '
        $0 == "# plan" { on = 1; next }
        on && ($0 == "" || /^# /) { exit }
        on == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; on = 2; next }
        on == 2 { print $at }' out
}

# How much of the answer was not computed stands in its row.
run plan -o reads --gpu t4 --vary B=1..600 -- "$program" {B} sizes numbers
is "$(awk '/^largest B/ { getline; print $1, $NF }' out)" "600 2" "values not computed, in the row"
has out "the answer rests on 2 values that a rehearsal does not compute" "what that means"
run plan -o reads-csv -f csv --gpu t4 --vary B=1..600 -- "$program" {B} sizes numbers
is "$(column sizes_not_computed) $(column numbers_not_computed) $(column outside_not_known)" "1 1 0" \
    "in csv"
run plan -o known --gpu t4 --vary B=1..600 -- "$program" {B}
has_not out unknown "all is computed"
# A list of GPUs: by memory, then by name. Each row has what is needed, or that it is not known.
run plan -o list -f csv --gpu "v100-32gb,cc=8.0,memory=12GiB,t4,v100-16gb" -- "$program" 900
is "$(column gpu | tr '\n' ' ')" '"cc=8.0 t4 v100-16gb v100-32gb ' "in order of memory"
run plan -o list2 --gpu v100-32gb,t4,v100-16gb -- "$program" 900
is "$(awk '/^(t4|v100)/ { print $1, $NF }' out | head -3 | tr '\n' ' ')" \
    "t4 rehearsal v100-16gb replay v100-32gb rehearsal " "rows"
# 19,900 MiB, with the context 310 and 320 more. A T4 was asked for 18,100, and has a context of 80.
is "$(sed '/^Tried/,$d' out | awk '/^(t4|v100)/ { print $1, $(NF - 2), $(NF - 1) }' | tr '\n' ' ')" \
    "t4 17.8 GiB v100-16gb 19.7 GiB v100-32gb 19.7 GiB " "what is needed"
has out "> 17.8 GiB" "a lower bound"
run plan -o all --gpu all -- "$program" 900
has_not out "not known " "what is needed is known of each"
has err "tidemark: t4 does not fit: " "progress without a value"
has err "tidemark: v100-32gb fits: " "progress without a value"
run plan -o all --gpu t4 -- "$program" 1
has err "warning: the folder all exists: its files stay" "a folder that is there"
is "$(head -1 err | cut -c1-17)" "tidemark: warning" "before anything runs"
run plan --gpu list
has out "a100-40gb" "the list"
run plan --gpu t4,nothing -- "$program"
is "$status" 2 "a list with a mistake"
has err "no GPU profile is called 'nothing'" "the mistake"
run plan --gpu t4,a10 --memory 2GiB -- "$program"
is "$status" 2 "a list with one memory"

# ---- fit ----

# verdict: of the table in out; it is one with one GPU.
verdict() {
    sed -n 's/^verdict  *//p' out
}

# 100 MiB, and 20 and 2 for each of 900: 19,900 MiB on a GPU with room for it.
rehearse large --gpu a100-40gb -- "$program" 900
run fit large.db --gpu t4
is "$status $(verdict)" "1 does not fit" "a T4"
is "$(sed -n 's/^for the context  *//p' out)" "80.0 MiB" "its context"
run fit large.db --gpu a10
is "$status $(verdict)" "0 fits" "an A10"
run fit large.db --gpu t4 --memory 20GiB
is "$status $(verdict)" "0 fits" "a T4 of another size"
run fit large.db --gpu t4 --memory 20GiB --reserve 1GiB
is "$status $(verdict)" "1 does not fit" "with something set aside"
# To the page: 19,900 MiB and the T4's 80.
run fit large.db --gpu t4 --memory 19980MiB
is "$status" 0 "just enough"
run fit large.db --gpu t4 --memory 19979MiB
is "$status" 1 "one MiB less"
# Without a GPU's name less the context of the A100 that was rehearsed, as a rehearsal with that memory has it.
context=$(sqlite3 large.db "SELECT value FROM meta WHERE key = 'rehearsal_context'")
for memory in $((19900 * 1048576 + context)) $((19898 * 1048576 + context)); do
    rehearse "same$memory" --gpu a100-40gb --memory $memory -- "$program" 900
    rehearsed=$status
    run fit large.db --memory $memory
    is "$status $(verdict)" "$([ "$rehearsed" = 0 ] && echo 0 fits || echo 1 does not fit)" "as rehearsed with $memory"
done
is "$rehearsed" 1 "the smaller one is refused"
# The list and all, with what plan said of the same size.
run fit large.db --gpu a10,v100-16gb,t4
is "$status" 0 "one of them is enough"
is "$(awk '/^(t4|a10|v100)/ { print $1, $(NF > 8 ? NF - 2 : NF) }' out | tr '\n' ' ')" \
    "t4 does v100-16gb does a10 fits " "a list"
run fit large.db --gpu all -f csv
sed -n '/^# gpus/,/^$/p' out | awk -F, 'NR > 2 && NF > 3 { print $3, $8 }' | sort >by_fit
run plan -o same -f csv --gpu all -- "$program" 900
sed -n '/^# plan/,/^$/p' out | awk -F, 'NR > 2 && NF > 3 { print $1, $6 }' | sort >by_plan
is "$(wc -l <by_fit)" "$("$tidemark" fit --gpu list | grep -c '[0-9]\.[0-9] ')" "all of them"
is "$(cat by_fit)" "$(cat by_plan)" "fit and plan agree"
run fit large.db --gpu t4,a10 --memory 2GiB
is "$status" 2 "several GPUs with one memory"
run fit large.db --gpu nothing
is "$status" 2 "no such GPU"
# A run that was refused on that GPU does not fit it; on a larger one it is not known.
rehearse ended --gpu t4 -- "$program" 900
run fit ended.db --gpu t4
is "$status $(verdict)" "1 does not fit" "where it was refused"
is "$(sed -n 's/^requested  *//p' out)" "17.6 GiB" "what was refused"
has out "refused in             step 0, forward" "where that was"
run fit ended.db --gpu a10
is "$status $(verdict)" "1 not known: the recording ended at a refusal" "a larger GPU"
# 100 MiB, 20 for each of 900, and an A10's context: more than 18,339 MiB.
is "$(sed -n 's/^smallest memory  *//p' out)" "more than 17.9 GiB, with what is set aside" "a lower bound"
run fit ended.db --memory 19GiB
is "$status $(verdict)" "1 not known: the recording ended at a refusal" "without a GPU"
run fit ended.db -f json --memory 19GiB
has out '"at_least": 19063111680' "the bound in json, with the context of the T4 that was rehearsed"
has out '"verdict": "unknown"' "the verdict in json"
rehearse survived --gpu t4 -- "$program" 900 goes-on
run fit survived.db --gpu a10
is "$(verdict)" "not known: a request was refused in this run" "a program that goes on"

[ $failures -eq 0 ] && echo ok
[ $failures -eq 0 ]
