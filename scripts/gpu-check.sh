#!/bin/sh
# gpu-check.sh [--dry-run] OUT: on a machine with a GPU, and python3 with torch, runs all that can only
# be checked there, part by part, in under eight minutes. Databases, traces and logs go into the folder
# OUT; the summary is printed last, and is OUT/summary.txt. docs/gpu.md says what each part proves.
# Exit status: 0 no part failed, 1 one did, 2 wrong usage, 77 no GPU here.
#
# gpu-check.sh --prepare: builds, and puts into build/gpu what has to travel to such a machine beside
# the source tree. Nothing is built or installed there.
#
# --dry-run: every part as far as it goes without a GPU; what needs one is skipped, and says so.
#
# TIDEMARK_TEST_PYTHON names another python3, TIDEMARK another command, TIDEMARK_GPU another build/gpu,
# TIDEMARK_CUDA_HINTS folders for --prepare to look for CUDA in, TIDEMARK_PARTS the parts to run,
# TIDEMARK_SECONDS how long all of it may take. TIDEMARK_REHEARSED=1: on a GPU that computes nothing, so
# that memory alone can be looked at (rehearsal-check.sh).
set -eu
cd "$(dirname "$0")/.."
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
root=$(pwd)
python=${TIDEMARK_TEST_PYTHON:-python3}
pack=${TIDEMARK_GPU:-$root/build/gpu}
rehearsed=${TIDEMARK_REHEARSED:-}

# Each part with the seconds that it may take. What is measured runs alone, like everything else.
parts="tests:90 sample_rnn:60 sample_ddp:45 sample_train:45 vmm:20 nesting:20 graph:20 callback:20
cost:20 injection:20 stats:120 history:90 profiler:90 cupti:60 ladder:60 overhead:150 import:60
pluggable:60 databases:60"
[ "$(printf %s "${TIDEMARK_SECONDS:-}" | tr -d 0-9)" = "" ] || exit 2
seconds_all=${TIDEMARK_SECONDS:-465}

SKIPPED=77

usage()
{
    echo "usage: scripts/gpu-check.sh [--dry-run] OUT | --prepare" >&2
    exit 2
}

prepare()
{
    mkdir -p build
    log=build/gpu-check.log
    { cmake --preset release -D "TIDEMARK_CUDA_HINTS=${TIDEMARK_CUDA_HINTS:-}" &&
        cmake --build --preset release --parallel "$(nproc)" &&
        rm -rf build/gpu && cmake --install build/release --prefix build/gpu &&
        python3 tests/gpu/pack.py build/release build/gpu; } > "$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
    tail -n 1 "$log"
    grep 'CUDA samples left out' "$log" || :
    echo "gpu-check: build/gpu is ready ($(du -sk build/gpu | cut -f1) KiB)"
}

# ---- what is at hand ----

# A line that says it, and a status: 0 a GPU, 1 none, 2 not even torch.
gpus()
{
    "$python" -W ignore - << 'END'
import sys
try:
    import torch
except ImportError as error:
    print("cannot import torch: %s" % error)
    sys.exit(2)
if not torch.cuda.is_available():
    print("torch %s sees no GPU" % torch.__version__)
    sys.exit(1)
count = torch.cuda.device_count()
print("%d GPU%s, %s, torch %s" % (count, "s" * (count > 1), torch.cuda.get_device_name(0),
                                  torch.__version__))
END
}

find_tidemark()
{
    for path in "${TIDEMARK:-}" "$pack/bin/tidemark" build/release/viewer-cli/tidemark \
        build/dev/viewer-cli/tidemark; do
        if [ -n "$path" ] && [ -x "$path" ]; then
            realpath "$path"
            return
        fi
    done
    echo "gpu-check: no tidemark here: run scripts/gpu-check.sh --prepare where it was built" >&2
    exit 1
}

# Where libraries of CUDA may be: what PyTorch brought, then a toolkit. With colons between.
cuda_libraries()
{
    "$python" -W ignore - << 'END' || :
import glob
import os
import sys
folders = []
for path in sys.path:
    folders += sorted(glob.glob(os.path.join(path, "nvidia", "*", "lib")))
    folders += glob.glob(os.path.join(path, "torch", "lib"))
for root in ["/usr/local/cuda"] + sorted(glob.glob("/usr/local/cuda-*"), reverse=True):
    folders += [os.path.join(root, "lib64"), os.path.join(root, "extras", "CUPTI", "lib64")]
print(":".join(folder for folder in folders if os.path.isdir(folder)))
END
}

machine()
{
    date -u '+%Y-%m-%d %H:%M UTC'
    uname -srm
    if command -v nvidia-smi > /dev/null; then
        nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || :
    fi
    "$python" -W ignore - << 'END' || :
import platform
print("python", platform.python_version(), "libc", platform.libc_ver()[1])
try:
    import torch
    print("torch", torch.__version__, "CUDA", torch.version.cuda, "cuDNN",
          torch.backends.cudnn.version())
    print("NCCL", torch.cuda.nccl.version() if torch.cuda.is_available() else "not asked")
except ImportError:
    print("no torch")
END
    "$tidemark" --version
}

# ---- what parts are made of ----

# skip REASON: ends the part.
skip()
{
    echo "skipped: $*"
    exit "$SKIPPED"
}

need_gpu()
{
    [ "$device" = cuda ] || skip "no GPU"
}

need_torch()
{
    [ "$have_torch" = yes ] || skip "python3 has no torch"
}

# has_option OPTION: whether this tidemark's record knows it.
has_option()
{
    "$tidemark" record --help | grep -q -e "$1"
}

# record NAME COMMAND...: OUT/NAME.db; what was printed is in OUT/log/NAME.txt.
record()
{
    name=$1
    shift
    rm -f "$out/$name.db"
    echo "+ tidemark record -o $name.db ${record_options:-} -- $*"
    # shellcheck disable=SC2086
    "$tidemark" record -o "$out/$name.db" ${record_options:-} -- "$@" \
        > "$out/log/$name.txt" 2>&1 < /dev/null || {
        status=$?
        tail -n 20 "$out/log/$name.txt"
        return "$status"
    }
}

# with_cuda COMMAND...: where its libraries are found.
with_cuda()
{
    env "LD_LIBRARY_PATH=$pack/lib:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"
}

# sample NAME PROGRAM ARGUMENTS...: recorded. A missing library counts as a missing GPU.
sample()
{
    name=$1
    program=$pack/samples/$2
    shift 2
    [ -z "$rehearsed" ] || set -- "$@" --memory
    [ -x "$program" ] || skip "$program was not packed: built without its part of CUDA"
    status=0
    record "$name" env \
        "LD_LIBRARY_PATH=$pack/lib:$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
        "$program" "$@" || status=$?
    if grep -q 'error while loading shared libraries' "$out/log/$name.txt"; then
        skip "$(grep 'error while loading' "$out/log/$name.txt")"
    fi
    if [ "$status" -eq "$SKIPPED" ]; then
        skip "$(grep -m 1 'no GPU' "$out/log/$name.txt" || tail -n 1 "$out/log/$name.txt")"
    fi
    grep -e '^checked' -e '^loss' -e '^computed' -e ' reports' -e 'buckets at' "$out/log/$name.txt" || :
    return "$status"
}

# peak NAME: the highest of allocated of a recording, bytes.
peak()
{
    "$tidemark" sql "$out/$1.db" "SELECT max(max_allocated) AS bytes FROM phase_device" \
        --format csv | tail -n 1
}

# equal WHAT NAME NAME: both logs have the same line that begins with WHAT.
equal()
{
    [ -z "$rehearsed" ] || return 0
    one=$(grep "^$1" "$out/log/$2.txt")
    other=$(grep "^$1" "$out/log/$3.txt")
    [ "$one" = "$other" ] || {
        echo "$2 and $3 differ: $one / $other"
        return 1
    }
}

# about GOT WANTED: within a tenth; blocks are rounded.
about()
{
    if [ $(($1 * 10)) -lt $(($2 * 9)) ] || [ $(($1 * 10)) -gt $(($2 * 11)) ]; then
        echo "$1 is not about $2"
        return 1
    fi
}

verify()
{
    [ -x "$pack/tests/verify" ] || skip "verify was not packed: built without CUPTI's headers"
    status=0
    said=$(with_cuda "$pack/tests/verify" "$1" 2>&1) || status=$?
    [ "$status" -ne "$SKIPPED" ] || skip "$said"
    echo "figures: $said"
    return "$status"
}

# ---- the parts ----

part_tests()
{
    [ -e "$pack/tests.json" ] || skip "no tests were packed: --prepare does"
    mkdir -p "$out/tests"
    with_cuda "$python" tests/gpu/run_tests.py "$pack" "$out/tests"
}

# The peak of scattered weights is higher by the packed weights, and nothing else is different.
part_sample_rnn()
{
    sample cuda-rnn rnn_flatten
    sample cuda-rnn-flat rnn_flatten --flatten
    sample cuda-rnn-gru rnn_flatten --gru --one-way --calls=3 --hidden=512
    equal 'loss:' cuda-rnn cuda-rnn-flat
    bytes=$(sed -n 's/.*packed weights \([0-9]*\) bytes.*/\1/p' "$out/log/cuda-rnn.txt")
    higher=$(($(peak cuda-rnn) - $(peak cuda-rnn-flat)))
    echo "figures: $(grep ' reports' "$out/log/cuda-rnn.txt"); peak scattered less flat: $higher"
    about "$higher" "$bytes"
}

part_sample_ddp()
{
    sample cuda-ddp ddp_buckets
    sample cuda-ddp-view ddp_buckets --bucket-view
    sample cuda-ddp-nccl ddp_buckets --bucket-view --nccl-memory
    sample cuda-ddp-place ddp_buckets --in-place
    equal 'loss:' cuda-ddp cuda-ddp-view
    case $found in
    [2-9]\ GPU*) sample cuda-ddp-ranks ddp_buckets --ranks=2 ;;
    esac
    bytes=$(sed -n 's/^buckets at.* with \([0-9]*\) bytes.*/\1/p' "$out/log/cuda-ddp.txt")
    higher=$(($(peak cuda-ddp) - $(peak cuda-ddp-view)))
    echo "figures: $(grep 'buckets at' "$out/log/cuda-ddp.txt"); peak less views: $higher bytes"
    about "$higher" "$bytes"
}

part_sample_train()
{
    sample cuda-train train_step --check
    sample cuda-train-large train_step --vocab=30000 --hidden=1000 --input=500 --batch=80 \
        --length=50 --no-check
    echo "figures: $(grep -c '^checked' "$out/log/cuda-train.txt") checks;" \
        "$(grep -e '^loss' -e '^computed' "$out/log/cuda-train-large.txt");" \
        "peak of the large one $(peak cuda-train-large) bytes"
}

part_vmm() { verify vmm; }
part_nesting() { verify nesting; }
part_graph() { verify graph; }
part_callback() { verify info; }
part_cost() { verify cost; }

# What cuInit says when a library is injected that answers 0, one that answers 1, or none is there.
part_injection()
{
    [ -x "$pack/tests/verify" ] || skip "verify was not packed: built without CUPTI's headers"
    figures=""
    for library in "" "$pack/tests/libinject_1.so" "$pack/tests/libinject_0.so" \
        "$out/no-such-file.so"; do
        said=$(env -u CUDA_INJECTION64_PATH ${library:+CUDA_INJECTION64_PATH="$library"} \
            "$pack/tests/verify" init 2>&1) || :
        case $said in
        *"no driver"*) skip "$said" ;;
        esac
        name=${library##*/}
        figures="$figures${figures:+; }${name:-none}: $said"
    done
    echo "figures: $figures"
}

# Together, for they do not disturb each other: memory of other processes is not counted.
part_stats()
{
    need_torch
    recordings=""
    while read -r name script arguments; do
        [ -n "$name" ] || continue # what needs more than is here left an empty line
        {
            # shellcheck disable=SC2086
            record "$name" "$python" tests/gpu/stats.py run "samples/torch/$script" \
                --device "$device" $arguments && : > "$out/log/$name.done"
        } &
        recordings="$recordings $name"
    done << END
torch-seq2seq seq2seq.py
torch-seq2seq-none seq2seq.py --grads none
torch-rnn rnn.py
torch-rnn-flat rnn.py --flatten
torch-ddp ddp.py --backend gloo
torch-ddp-views ddp.py --backend gloo --bucket-view
$([ "$device" = cpu ] || echo torch-seq2seq-full seq2seq.py --full)
$(case $found in [2-9]\ GPU*) echo torch-ddp-nccl ddp.py --backend nccl ;; esac)
END
    wait
    databases=""
    for name in $recordings; do
        [ -e "$out/log/$name.done" ] || {
            echo "$name was not recorded"
            return 1
        }
        databases="$databases $out/$name.db"
    done
    # shellcheck disable=SC2086
    "$python" tests/gpu/stats.py compare $databases
}

# PyTorch's own history, taken by `record --history`, through our replay.
part_history()
{
    need_torch
    record_options=--history
    record history "$python" tests/gpu/two_streams.py --device "$device" --steps 8
    record history-expandable env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "$python" \
        tests/gpu/two_streams.py --device "$device" --steps 8
    record history-split env \
        PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:32,roundup_power2_divisions:4 "$python" \
        tests/gpu/two_streams.py --device "$device" --steps 8
    "$python" tests/gpu/address_match.py "$tidemark" "$out/history.db" \
        "$out/history-expandable.db" "$out/history-split.db"
}

# The same from snapshots that PyTorch writes itself; nothing of ours is in that process.
part_import()
{
    need_torch
    need_gpu
    for how in "" expandable_segments:True; do
        name=snapshot${how:+-expandable}
        rm -f "$out/$name.db"
        PYTORCH_CUDA_ALLOC_CONF=$how "$python" tests/gpu/two_streams.py --device cuda --steps 6 \
            --snapshot "$out/$name.pickle"
        "$tidemark" import "$out/$name.pickle" -o "$out/$name.db"
    done
    "$python" tests/gpu/address_match.py "$tidemark" "$out/snapshot.db" \
        "$out/snapshot-expandable.db"
}

part_pluggable()
{
    need_torch
    library=$pack/lib/libtidemark_alloc.so
    [ -e "$library" ] || skip "libtidemark_alloc.so was not packed"
    need_gpu
    record pluggable "$python" samples/torch/pluggable.py --library "$library"
    record pluggable-pool "$python" samples/torch/pluggable.py --library "$library" --pool
    "$python" tests/gpu/address_match.py "$tidemark" "$out/pluggable.db"
    echo "figures: $(grep '^loss' "$out/log/pluggable.txt"), peak $(peak pluggable) bytes;" \
        "every address as our replay has it"
}

part_profiler()
{
    need_torch
    "$python" tests/gpu/profiled.py run "$out/profiler-bare.json" "$device"
    record profiler "$python" tests/gpu/profiled.py run "$out/profiler-recorded.json" "$device"
    "$python" tests/gpu/profiled.py compare "$out/profiler-bare.json" "$out/profiler-recorded.json"
}

# What CUPTI told, with and without kernels; the ladder at the peak has a line for each library. In a
# rehearsal no kernel runs.
part_cupti()
{
    need_torch
    record cupti "$python" tests/gpu/steps.py --device "$device" --steps 20
    names=cupti
    if [ -z "$rehearsed" ]; then
        names="cupti cupti-kernels"
        record_options=--kernels
        record cupti-kernels "$python" tests/gpu/steps.py --device "$device" --steps 20
    fi
    for name in $names; do
        "$tidemark" info "$out/$name.db" | sed -n '/^Sources/,/^$/p'
        "$tidemark" ladder "$out/$name.db"
    done
    "$python" tests/gpu/cupti.py "$out/cupti.db"
    [ -n "$rehearsed" ] || "$python" tests/gpu/cupti.py "$out/cupti-kernels.db" kernels
}

# A hundred steps, and ten before them: what the device lost that nobody accounts for must not grow.
part_ladder()
{
    need_torch
    steps=100
    [ "$device" = cuda ] || steps=3
    record ladder "$python" tests/gpu/steps.py --device "$device" --steps "$steps"
    "$tidemark" ladder "$out/ladder.db" end | tee "$out/ladder.txt"
    "$python" tests/gpu/ladder.py "$tidemark" "$out/ladder.db" 10 "$((steps + 9))"
}

part_overhead()
{
    need_torch
    options=""
    for option in --no-cupti --kernels --history; do
        if has_option "$option"; then
            options="$options $option"
        fi
    done
    rounds=3 steps=150
    if [ "$device" = cpu ]; then
        rounds=1 steps=3
    fi
    status=0
    # shellcheck disable=SC2086
    "$python" tests/gpu/overhead.py "$tidemark" "$out" "$device" "$rounds" "$steps" \
        "${part_seconds:-150}" $options || status=$?
    need_gpu
    return "$status"
}

# Every database that came out: whole, nothing lost, and read by the reports.
part_databases()
{
    count=0
    size=0
    for path in "$out"/*.db; do
        [ -e "$path" ] || skip "there is none"
        for report in info phases peak ladder; do
            "$tidemark" "$report" "$path" > "$out/log/report.txt" 2>&1 || {
                echo "$report ${path##*/}:"
                tail -n 5 "$out/log/report.txt"
                return 1
            }
        done
        lost=$("$tidemark" sql "$path" "SELECT coalesce(sum(n), 0) AS n FROM lost" --format csv |
            tail -n 1)
        echo "${path##*/}: $(wc -c < "$path") bytes, $lost events lost"
        [ "$lost" = 0 ] || return 1
        count=$((count + 1))
        size=$((size + $(wc -c < "$path") / 1024))
    done
    echo "figures: $count databases, $size KiB, nothing lost"
}

# ---- running them ----

# run NAME SECONDS: the part, in a process of its own that its time can end.
run()
{
    log=$out/log/$1.log
    left=$((begun + seconds_all - $(date +%s)))
    limit=$2
    [ "$limit" -le "$left" ] || limit=$left
    start=$(date +%s)
    status=0
    if [ "$limit" -lt 2 ]; then
        echo "no time is left" > "$log"
        status=late
    else
        part_seconds=$((limit - 5)) timeout -k 5 "$limit" "$root/scripts/gpu-check.sh" --part "$1" "$out" > "$log" 2>&1 < /dev/null || status=$?
    fi
    took=$(($(date +%s) - start))
    said=$(sed -n 's/^figures: //p' "$log" | tail -n 1)
    case $status in
    0) result=PASS ;;
    "$SKIPPED")
        result=SKIP
        why=$(sed -n 's/^skipped: //p' "$log" | tail -n 1)
        said=${why:-$said}
        ;;
    late) result=FAIL said="no time is left" ;; # not run, so it proves nothing
    124 | 137) result=FAIL said="not over after $limit s; $said" ;;
    *) result=FAIL said="exit status $status, see log/$1.log; $said" ;;
    esac
    printf '%-13s %-5s %4d s  %s\n' "$1" "$result" "$took" "$said" | tee -a "$out/summary.txt"
}

# The state that parts share, as environment: each is a process.
look()
{
    status=0
    found=$(gpus) || status=$?
    device=cpu have_torch=yes
    case $status in
    0) device=cuda ;;
    1) ;;
    *) have_torch=no ;;
    esac
    libraries=$(cuda_libraries)
    export found device have_torch libraries tidemark
    export PYTHONDONTWRITEBYTECODE=1
}

main()
{
    look
    if [ "$device" = cpu ] && [ "$dry" = no ]; then
        echo "gpu-check: no GPU to check with: $found"
        exit "$SKIPPED"
    fi
    mkdir -p "$1/log"
    out=$(cd "$1" && pwd)
    rm -f "$out"/*.db "$out"/log/* "$out/summary.txt"
    machine > "$out/machine.txt" 2>&1
    cat "$out/machine.txt"
    begun=$(date +%s)
    for part in $parts; do
        case " ${TIDEMARK_PARTS:-${part%:*}} " in
        *" ${part%:*} "*) run "${part%:*}" "${part#*:}" ;;
        esac
    done
    echo
    passed=$(grep -c '^[a-z_]* *PASS' "$out/summary.txt" || :)
    skipped=$(grep -c '^[a-z_]* *SKIP' "$out/summary.txt" || :)
    failed=$(grep -c '^[a-z_]* *FAIL' "$out/summary.txt" || :)
    echo "$passed passed, $skipped skipped, $failed failed, in $(($(date +%s) - begun)) s" |
        tee -a "$out/summary.txt"
    [ "$failed" -eq 0 ]
}

dry=no
case ${1:-} in
--prepare)
    [ $# -eq 1 ] || usage
    prepare
    exit
    ;;
--part) # called by run, above
    [ $# -eq 3 ] || usage
    out=$3
    "part_$2"
    exit
    ;;
--dry-run)
    dry=yes
    shift
    ;;
"" | -*) usage ;;
esac
[ $# -eq 1 ] || usage
case $1 in
-* | "") usage ;;
esac
tidemark=$(find_tidemark)
main "$1"
