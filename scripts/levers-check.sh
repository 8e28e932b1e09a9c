#!/bin/sh
# levers-check.sh [OUT]: what `tidemark peak` promises of each change to each program of samples/levers,
# and what comes where the change is made. Recordings and logs go into the folder OUT
# (build/levers-check); the table is printed, and is in OUT/summary.txt. samples/levers/compare.py says
# when a promise is kept. Exit status: 0 all were, 1 one was not, or a program failed, 2 usage.
#
# TIDEMARK_PYTHON is an interpreter with torch, transformers, lightning, accelerate and bitsandbytes (python3);
# TIDEMARK_PROGRAMS names programs of the list below, TIDEMARK another command. With TIDEMARK_REUSE=1
# recordings that are in OUT already are not made again. With TIDEMARK_REHEARSE=1 the programs are
# rehearsed on the GPU TIDEMARK_GPU_PROFILE (a100-40gb), for which PyTorch has to be built for CUDA.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
[ $# -le 1 ] || { echo "usage: scripts/levers-check.sh [OUT]" >&2; exit 2; }
out=${1:-$root/build/levers-check}
python=${TIDEMARK_PYTHON:-python3}
tidemark=${TIDEMARK:-$root/build/dev/viewer-cli/tidemark}
reuse=${TIDEMARK_REUSE:-0}
rehearse=${TIDEMARK_REHEARSE:-0}
gpu=${TIDEMARK_GPU_PROFILE:-a100-40gb}
mkdir -p "$out"
out=$(cd "$out" && pwd)
export PYTHONDONTWRITEBYTECODE=1

# name, options of peak or -, program and its options
list="nanogpt - nanogpt.py
nanogpt_4 - nanogpt.py --accumulation 4
hf_trainer - hf_trainer.py
llama - llama.py
lora - llama.py --rank 8
bert - bert.py
t5_vit - t5_vit.py
lightning - lightning_mlp.py
accelerate - accelerate_encoder.py
ddp --rank=0 -m torch.distributed.run --nproc_per_node 2 ddp.py
ddp_1 --rank=1 -m torch.distributed.run --nproc_per_node 2 ddp.py
fsdp --rank=0 -m torch.distributed.run --nproc_per_node 2 fsdp.py
fsdp_kept --rank=0 -m torch.distributed.run --nproc_per_node 2 fsdp.py --kept 1 --blocks 16
unet - unet.py
language_model - word_language_model.py
rnn_graph - rnn_graph.py
opt - opt.py
convolutions - convolutions.py"
programs=${TIDEMARK_PROGRAMS:-$(echo "$list" | cut -d ' ' -f 1)}
failed=0
: > "$out/summary.txt"

say()
{
    echo "$*" | tee -a "$out/summary.txt"
}

# recorder ARGUMENT...: the command and its options; a GPU for each rank, one where there are none
recorder()
{
    [ "$rehearse" = 0 ] && { echo record; return; }
    gpus=1
    [ "$1" = -m ] && gpus=2
    echo "rehearse --gpu $gpu --gpus $gpus"
}

# record NAME ARGUMENT...: OUT/NAME.db
record()
{
    recording=$1
    shift
    [ "$reuse" = 1 ] && [ -e "$out/$recording.db" ] && return 0
    rm -f "$out/$recording.db"
    # shellcheck disable=SC2046 # the recorder is words
    (cd "$root/samples/levers" && "$tidemark" $(recorder "$@") -o "$out/$recording.db" -- "$python" "$@") \
        > "$out/$recording.log" 2>&1
}

# levers PROGRAM...: its switches, the name of the file found among its arguments
levers()
{
    for argument in "$@"; do
        case $argument in
        *.py) (cd "$root/samples/levers" && "$python" "$argument" --levers); return ;;
        esac
    done
}

check()
{
    name=$1 options=$2
    shift 2
    [ "$options" = - ] && options=
    record "$name" "$@" || { say "$name: the program failed: $out/$name.log"; return 1; }
    bad=0
    for lever in $(levers "$@"); do
        if ! record "$name--$lever" "$@" "--$(echo "$lever" | tr _ -)"; then
            say "$name: the program failed: $out/$name--$lever.log"
            bad=1
            continue
        fi
        # shellcheck disable=SC2086 # options are words
        line=$("$python" samples/levers/compare.py "$tidemark" "$name" "$lever" "$out/$name.db" \
            "$out/$name--$lever.db" $options) || bad=1
        say "$line"
    done
    return $bad
}

say "$(printf '%-20s %-24s %11s %19s %11s  %7s' program lever peak promised came share)"
for wanted in $programs; do
    line=$(echo "$list" | grep "^$wanted ") || { echo "no program $wanted" >&2; exit 2; }
    # shellcheck disable=SC2086 # a line is words
    check $line || failed=1
done
exit $failed
