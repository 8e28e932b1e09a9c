#!/bin/sh
# test_gpu_check.sh BUILD TIDEMARK LIBRARY CTEST [PYTHON]: gpu-check.sh --dry-run, with what this build
# has packed as --prepare would. Without PYTHON: with an interpreter that has no torch. Every part
# must have run or say why not, and none may fail.
set -eu
build=$1
tidemark=$2
library=$3
ctest=$4
python=${5:-}
script=$(cd "$(dirname "$0")/../../scripts" && pwd)/gpu-check.sh
pack_py=$(cd "$(dirname "$0")" && pwd)/pack.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

complain()
{
    echo "$*"
    failed=1
}

mkdir -p "$work/pack/lib" "$work/none/torch"
cp "$library" "$work/pack/lib/"
python3 "$pack_py" "$build" "$work/pack" "$ctest" > "$work/packed"
grep -q '^packed [1-9][0-9]* tests' "$work/packed" || complain "nothing packed: $(cat "$work/packed")"

if [ -z "$python" ]; then
    # A torch that cannot be imported stands before any other.
    echo 'raise ImportError("this one is for a test")' > "$work/none/torch/__init__.py"
    export PYTHONPATH="$work/none"
    python=python3
elif ! "$python" -c 'import torch' 2> /dev/null; then
    echo "$python has no torch"
    exit 77
elif "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    echo "there is a GPU: this tests what is said where there is none"
    exit 77
fi
export TIDEMARK="$tidemark" TIDEMARK_GPU="$work/pack" TIDEMARK_TEST_PYTHON="$python"

status=0
"$script" --dry-run "$work/out" > "$work/said" 2>&1 || status=$?
[ "$status" -eq 0 ] || complain "--dry-run: exit status $status"

# Each part has its line, and the lines of the screen are those of the summary.
parts=$(sed -n '/^parts="/,/"$/p' "$script" | tr -d '"' | sed 's/^parts=//' | tr ' ' '\n' |
    sed -n 's/:[0-9]*$//p')
[ "$(printf '%s\n' "$parts" | wc -l)" -ge 15 ] || complain "parts are not to be found: $parts"
for part in $parts; do
    grep -qE "^$part +(PASS|SKIP) +[0-9]+ s  ." "$work/out/summary.txt" ||
        complain "$part: $(grep "^$part " "$work/out/summary.txt" || echo no line)"
    [ -e "$work/out/log/$part.log" ] || complain "$part left no log"
done
grep -qE "^[0-9]+ passed, [0-9]+ skipped, 0 failed" "$work/out/summary.txt" ||
    complain "no totals in the summary"
grep -vxFf "$work/said" "$work/out/summary.txt" && complain "not on the screen"
grep -h -i -E 'syntax error|not found$|unbound|parameter not set|Traceback' "$work/out"/log/*.log |
    grep -v 'to be found' && complain "an error in a log"
[ -s "$work/out/machine.txt" ] || complain "nothing about the machine"

# What reads the databases of all others is the last of them.
[ "$(printf '%s\n' "$parts" | tail -n 1)" = databases ] || complain "databases is not the last part"

# Each recording of the statistics has a name, however many GPUs there are. Nothing is recorded here.
cat > "$work/recorder" << 'END'
#!/bin/sh
: > "$3"
END
chmod +x "$work/recorder"
for found in "1 GPU:7" "2 GPUs:8"; do
    mkdir -p "$work/stats/log"
    env device=cuda have_torch=yes libraries= "found=${found%:*}, of a test" \
        "tidemark=$work/recorder" TIDEMARK_TEST_PYTHON=true \
        "$script" --part stats "$work/stats" > "$work/said" 2>&1 || complain "stats: $(cat "$work/said")"
    [ ! -e "$work/stats/.db" ] || complain "${found%:*}: a recording without a name"
    [ "$(find "$work/stats" -name '*.db' | wc -l)" -eq "${found#*:}" ] ||
        complain "${found%:*}: $(ls "$work/stats")"
    rm -rf "$work/stats"
done

# Without --dry-run there is nothing to do here, and OUT stays as it is.
status=0
said=$("$script" "$work/other" 2>&1) || status=$?
[ "$status" -eq 77 ] || complain "without a GPU: exit status $status, and: $said"
[ ! -e "$work/other" ] || complain "it made a folder for nothing"

# A part that fails or that takes too long does not stop the rest, and is the script's failure.
printf '#!/bin/sh\nexit 1\n' > "$work/pack/tests/verify"
chmod +x "$work/pack/tests/verify"
status=0
TIDEMARK_PARTS="vmm cost" "$script" --dry-run "$work/out2" > "$work/said" 2>&1 || status=$?
[ "$status" -eq 1 ] || complain "failing parts: exit status $status"
[ "$(grep -c ' FAIL ' "$work/out2/summary.txt")" -eq 2 ] || complain "not two failures"
printf '#!/bin/sh\nsleep 30\n' > "$work/pack/tests/verify"
status=0
# Enough that on a busy machine some of it is left when the first part begins.
TIDEMARK_SECONDS=12 TIDEMARK_PARTS="vmm cost" "$script" --dry-run "$work/out2" > "$work/said" 2>&1 ||
    status=$?
[ "$status" -eq 1 ] || complain "no time: exit status $status"
grep -q '^vmm .*FAIL .*not over after [0-9]* s' "$work/out2/summary.txt" || complain "its time did not end it"
grep -q '^cost .*FAIL .*no time is left' "$work/out2/summary.txt" || complain "the time of all did not end"

# The parts with samples, to their end, on the GPU of host memory.
tests=$build/tests/gpu
fixed="setarch -R"
$fixed true 2> /dev/null || fixed=""
# on_fake SAMPLE OPTIONS: such a sample in the pack, smaller than the part asks for.
on_fake()
{
    cat > "$work/pack/samples/$1" << END
#!/bin/sh
LD_PRELOAD="$tests/libfake_gpu.so:\$LD_PRELOAD"
LD_LIBRARY_PATH="$build/tests/alloc_lib/driver:$tests/fake"
export LD_PRELOAD LD_LIBRARY_PATH
exec $fixed "$build/samples/cuda/$1" "\$@" $2
END
}
if [ -n "$fixed" ] && [ -e "$build/samples/cuda/train_step" ] &&
    [ -e "$build/samples/cuda/ddp_buckets" ] && [ -e "$tests/libfake_gpu.so" ]; then
    on_fake rnn_flatten "--hidden=32 --input=24 --batch=3 --length=5"
    on_fake ddp_buckets "--width=128 --layers=8 --batch=4 --cap=64KiB"
    on_fake train_step "--vocab=50 --hidden=24 --input=16 --batch=4 --length=6"
    TIDEMARK_PARTS="sample_rnn sample_ddp sample_train databases" "$script" --dry-run \
        "$work/out3" > "$work/said" 2>&1 || complain "samples on the fake fail"
    [ "$(grep -c ' PASS ' "$work/out3/summary.txt")" -eq 4 ] ||
        complain "samples on the fake: $(cat "$work/out3/summary.txt")"
fi

for wrong in "" "--no-such-option" "a b" "--prepare x" "--dry-run"; do
    status=0
    # shellcheck disable=SC2086
    "$script" $wrong > "$work/said" 2>&1 || status=$?
    [ "$status" -eq 2 ] || complain "'$wrong': exit status $status"
done
[ "$failed" -eq 0 ] || cat "$work/out/summary.txt" 2> /dev/null || :
exit "$failed"
