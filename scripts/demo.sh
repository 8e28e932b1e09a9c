#!/bin/sh
# demo.sh: on a fresh Debian 12, installs what is needed, builds, records two samples and prints two
# reports of each. The first, samples/c/seq2seq, uses no GPU and no real memory: it reports the
# blocks that its model would need. The second, samples/torch/seq2seq.py, is a small training run of
# the same model in PyTorch, on the CPU, which knows nothing of Tidemark.
set -eu
cd "$(dirname "$0")/.."
PATH=${PATH:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}
export PATH

scripts/setup.sh
mkdir -p build/demo
log=build/demo/build.log
{ cmake --preset release &&
    cmake --build --preset release --parallel "$(nproc)" --target tidemark tidemark_guest seq2seq; } \
    > "$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}

root=$(pwd)
bin=$root/build/release
cd build/demo
rm -f tidemark.*.db*
show()
{
    printf '\n$ %s\n' "$*"
    command=$1
    shift
    "$bin/viewer-cli/$command" "$@" < /dev/null
}
show tidemark record -o tidemark.seq2seq.db -- "$bin/samples/seq2seq"
show tidemark phases tidemark.seq2seq.db
show tidemark peak tidemark.seq2seq.db

python=/usr/bin/python3
sample=$root/samples/torch/seq2seq.py
if $python -c 'import torch' > /dev/null 2>&1; then
    show tidemark record -o tidemark.torch.db -- $python "$sample"
    show tidemark phases tidemark.torch.db
    show tidemark peak tidemark.torch.db
else
    printf '\n%s cannot import torch: the training run is left out.\n' $python
fi
printf '\nThe recordings are build/demo/tidemark.*.db; ask them more with %s sql.\n' \
    build/release/viewer-cli/tidemark
