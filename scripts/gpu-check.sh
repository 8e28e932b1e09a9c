#!/bin/sh
# gpu-check.sh OUT: on a machine with a GPU and python3 with torch, records the samples of
# samples/torch with --device cuda and compares PyTorch's own counters, read at the end of each
# phase, with the recordings, to the byte. Recordings and logs go into the folder OUT; a summary
# comes last. Exit status: 0 all equal, 1 not, 2 wrong usage, 77 no GPU here.
#
# gpu-check.sh --prepare: builds, and puts into build/gpu what has to travel to such a machine
# beside the source tree. Nothing is built or installed there.
#
# TIDEMARK_TEST_PYTHON names another python3, TIDEMARK another command.
set -eu
cd "$(dirname "$0")/.."
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
root=$(pwd)
python=${TIDEMARK_TEST_PYTHON:-python3}

usage()
{
    echo "usage: scripts/gpu-check.sh OUT | --prepare" >&2
    exit 2
}

prepare()
{
    mkdir -p build
    log=build/gpu-check.log
    { cmake --preset release &&
        cmake --build --preset release --parallel "$(nproc)" --target tidemark tidemark_guest &&
        rm -rf build/gpu && cmake --install build/release --prefix build/gpu; } > "$log" 2>&1 || {
        cat "$log" >&2
        exit 1
    }
    echo "gpu-check: build/gpu is ready ($(du -sk build/gpu | cut -f1) KiB)"
}

# What is at hand: a line that says it, and a status.
gpus()
{
    "$python" - << 'END'
import sys
try:
    import torch
except ImportError as error:
    print("cannot import torch: %s" % error)
    sys.exit(1)
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
    for path in "${TIDEMARK:-}" build/gpu/bin/tidemark build/release/viewer-cli/tidemark \
        build/dev/viewer-cli/tidemark; do
        if [ -n "$path" ] && [ -x "$path" ]; then
            realpath "$path"
            return
        fi
    done
    echo "gpu-check: no tidemark here: run scripts/gpu-check.sh --prepare where it was built" >&2
    exit 1
}

# record NAME SAMPLE ARGUMENTS...: OUT/NAME.db, and what was printed in OUT/NAME.log.
record()
{
    name=$1
    shift
    sample=samples/torch/$1
    shift
    printf 'recording %-16s %s %s\n' "$name" "$sample" "$*"
    rm -f "$out/$name.db"
    if ! "$tidemark" record -o "$out/$name.db" -- "$python" tests/samples_torch/observed.py \
        "$sample" --device cuda "$@" > "$out/$name.log" 2>&1 < /dev/null; then
        tail -n 20 "$out/$name.log"
        printf '%-28s FAILED, see %s\n' "$name.db" "$out/$name.log" >> "$out/failed"
        return
    fi
    "$tidemark" phases "$out/$name.db" >> "$out/$name.log" 2>&1 || :
    "$tidemark" peak "$out/$name.db" >> "$out/$name.log" 2>&1 || :
    recordings="$recordings $out/$name.db"
}

case ${1:-} in
--prepare)
    [ $# -eq 1 ] || usage
    prepare
    exit
    ;;
"" | -*) usage ;;
esac
[ $# -eq 1 ] || usage

if ! found=$(gpus); then
    echo "gpu-check: no GPU to check with: $found"
    exit 77
fi
tidemark=$(find_tidemark)
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$root"
rm -f "$out/failed"
recordings=""
echo "gpu-check: $found; $("$tidemark" --version | head -n 1)"

record seq2seq seq2seq.py
record seq2seq-none seq2seq.py --grads none
record seq2seq-full seq2seq.py --full
record rnn rnn.py
record rnn-flat rnn.py --flatten
record ddp ddp.py --backend gloo
record ddp-views ddp.py --backend gloo --bucket-view
case $found in
1\ GPU*) ;;
*) record ddp-nccl ddp.py --backend nccl ;;
esac

echo
status=0
# shellcheck disable=SC2086
"$python" tests/samples_torch/counters.py $recordings > "$out/summary" || status=1
if [ -e "$out/failed" ]; then
    cat "$out/failed" >> "$out/summary"
    status=1
fi
echo "recorded, beside torch.cuda's memory_allocated, max_memory_allocated, memory_reserved:"
cat "$out/summary"
exit "$status"
