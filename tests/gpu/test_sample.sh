#!/bin/sh
# test_sample.sh NAME SAMPLE FAKE FOLDERS TIDEMARK: a sample of samples/cuda on the GPU of host memory
# (fake/): what it computes is right, in every form; what is wrong is seen; what is recorded is what
# the sample is about.
set -eu
name=$1
sample=$2
fake=$3
folders=$4
tidemark=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
# The fake's addresses are fixed: without randomised ones nothing else is there.
fixed="setarch -R"
$fixed true 2> /dev/null || fixed=""

complain()
{
    echo "$*"
    failed=1
}

# on_fake COMMAND...: its exit status; $work/said is what it said.
on_fake()
{
    status=0
    # shellcheck disable=SC2086
    $fixed env "LD_PRELOAD=$fake" "LD_LIBRARY_PATH=$folders" "$@" > "$work/said" 2>&1 || status=$?
    if grep -q 'addresses of the fake driver are taken' "$work/said"; then
        echo "no room for the fake's addresses"
        exit 77
    fi
    return "$status"
}

# fine CHECKS ARGUMENTS...: ends well, with so many comparisons.
fine()
{
    checks=$1
    shift
    on_fake "$sample" "$@" || complain "$name $*: exit status $?: $(tail -n 3 "$work/said")"
    got=$(grep -c '^checked' "$work/said" || :)
    [ "$got" -eq "$checks" ] || complain "$name $*: $got comparisons, not $checks"
    ! grep -q WRONG "$work/said" || complain "$name $*: $(grep WRONG "$work/said")"
}

loss()
{
    grep '^loss' "$work/said"
}

# recorded ARGUMENTS...: into $work/run.db.
recorded()
{
    rm -f "$work/run.db"
    # The fake is for the sample only.
    status=0
    # shellcheck disable=SC2086,SC2016
    $fixed "$tidemark" record -o "$work/run.db" -- env "LD_LIBRARY_PATH=$folders" sh -c \
        'LD_PRELOAD="$1:$LD_PRELOAD"; export LD_PRELOAD; shift; exec "$@"' sh "$fake" "$sample" "$@" \
        > "$work/said" 2>&1 || status=$?
    if grep -q 'addresses of the fake driver are taken' "$work/said"; then
        exit 77
    fi
    [ "$status" -eq 0 ] || complain "recorded $*: exit status $status: $(tail -n 3 "$work/said")"
}

sql()
{
    "$tidemark" sql "$work/run.db" "$1" --format csv | tail -n +2
}

peak()
{
    sql "SELECT max(max_allocated) AS bytes FROM phase_device"
}

case $name in
rnn_flatten)
    small="--hidden=32 --input=24 --batch=3 --length=5"
    for cell in "" --gru "--gru --one-way" "--layers=3 --one-way" "--layers=1"; do
        # shellcheck disable=SC2086
        fine 3 $small $cell
        scattered=$(loss)
        # shellcheck disable=SC2086
        fine 3 $small $cell --flatten --calls=2
        [ "$scattered" = "$(loss)" ] || complain "$cell: flat weights give another loss: $(loss)"
    done
    # shellcheck disable=SC2086
    fine 0 $small --no-check
    wrong=$small
    # shellcheck disable=SC2086
    recorded $small --calls=4 --steps=2 --no-check
    scattered=$(peak)
    weights=$(sed -n 's/.*packed weights \([0-9]*\) bytes.*alone are \([0-9]*\)).*/\1 \2/p' "$work/said")
    # shellcheck disable=SC2086
    recorded $small --calls=4 --steps=2 --no-check --flatten
    # Blocks below 1 MiB are rounded to 512, which all of these are; scattered weights have no gaps.
    expected=$((4 * ${weights% *} - (${weights% *} - ${weights#* })))
    [ $((scattered - $(peak))) -eq "$expected" ] ||
        complain "the peak falls by $((scattered - $(peak))), not $expected"
    ;;
train_step)
    wrong="--vocab=50 --hidden=24 --input=16 --batch=4 --length=6"
    # shellcheck disable=SC2086
    fine 9 $wrong
    # shellcheck disable=SC2086
    fine 13 $wrong --check --layers=2
    fine 9 --vocab=30 --hidden=20 --input=33 --batch=1 --length=9
    # shellcheck disable=SC2086
    recorded $wrong --steps=3 --no-check
    [ "$(sql "SELECT name FROM phase WHERE step = 1 AND kind <> 'other' ORDER BY begin_seq" |
        tr '\n' ' ')" = "zero_grad forward loss backward optimizer " ] ||
        complain "phases: $(sql 'SELECT name FROM phase WHERE step = 1 ORDER BY begin_seq')"
    ;;
ddp_buckets)
    wrong="--width=48 --layers=5 --batch=6 --first-cap=1KiB --cap=20KiB"
    for how in "" --bucket-view --in-place "--bucket-view --in-place" --nccl-memory \
        "--bucket-view --nccl-memory --in-place"; do
        # shellcheck disable=SC2086
        fine 1 $wrong $how
        first=${first:-$(loss)}
        [ "$first" = "$(loss)" ] || complain "$how gives another loss: $(loss), not $first"
    done
    grep -q '^buckets at the end: 3,' "$work/said" || complain "$(grep buckets "$work/said")"
    recorded --width=128 --layers=8 --batch=4 --steps=2 --no-check --in-place
    copies=$(peak)
    recorded --width=128 --layers=8 --batch=4 --steps=2 --no-check --in-place --bucket-view
    [ $((copies - $(peak))) -gt $((7 * 128 * 128 * 4)) ] ||
        complain "views take away $((copies - $(peak))) bytes only"
    recorded --width=128 --layers=8 --batch=4 --steps=2 --no-check --nccl-memory
    [ "$(sql "SELECT count(*) AS n FROM string WHERE text = 'ncclMemAlloc'")" = 1 ] ||
        complain "no heap of NCCL's"
    ;;
*) complain "no such sample: $name" ;;
esac

# A GPU that computes something else is found out.
# shellcheck disable=SC2086
if FAKE_WRONG=1 on_fake "$sample" $wrong; then
    complain "wrong results, and nobody says so"
fi
grep -q 'WRONG' "$work/said" || complain "it does not say what is wrong: $(tail -n 3 "$work/said")"
# Unless the memory alone is looked at, which is said.
# shellcheck disable=SC2086
FAKE_WRONG=1 on_fake "$sample" $wrong --memory || complain "--memory: exit status $?"
grep -q '^computed: not looked at' "$work/said" || complain "--memory does not say what it leaves out"
! grep -q -e '^checked' -e '^loss' "$work/said" || complain "--memory looks at numbers"
exit "$failed"
