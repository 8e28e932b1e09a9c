#!/bin/sh
# inside.sh WAY: run by package-check.sh in the bare system, as an ordinary user, in the folder with
# the packages. WAY is wheel, deb or tar; the environment v has PyTorch. Ends with 1 if a recording or
# its first screen is not what it should be.
set -eu
way=${1:?wheel, deb or tar}
python=$PWD/v/bin/python
work=$PWD/run-$way
mkdir -p "$work"

case $way in
wheel)
    v/bin/pip install -q ./tidemark-*.whl
    tidemark=$PWD/v/bin/tidemark
    "$python" -c 'import tidemark'
    ;;
deb) tidemark=$(command -v tidemark) ;;
tar)
    tar -xzf tidemark-*-linux-*.tar.gz
    tidemark=$(echo "$PWD"/tidemark-*-linux-*/bin/tidemark)
    ;;
esac
cd "$work"

# screen NAME PROGRAM...: records a program and reads the first screen, which has a peak and its holders.
screen()
{
    name=$1
    shift
    "$tidemark" record --force -o "$name.db" -- "$@" > "$name.log" 2>&1 || {
        cat "$name.log"
        exit 1
    }
    grep -q 'nothing was lost' "$name.log" || { cat "$name.log"; exit 1; }
    "$tidemark" "$name.db" > "$name.txt" 2>&1
    grep -qE '^Peak: [1-9][0-9.]* [MG]iB allocated on ' "$name.txt" &&
        grep -qE '^ +[0-9.]+ [KMG]iB  .*(activations|parameters)' "$name.txt" || {
        cat "$name.txt"
        echo "that is no first screen"
        exit 1
    }
    echo "$way, $name: $(grep '^Peak:' "$name.txt")"
}

screen stranger "$python" ../train.py
screen seq2seq "$python" ../seq2seq.py
"$tidemark" > list.txt
grep -q stranger list.txt && grep -q seq2seq list.txt || { cat list.txt; exit 1; }

# A rehearsal wants PyTorch's CUDA build.
if "$python" -c 'import sys, torch; sys.exit(not torch.version.cuda)'; then
    "$tidemark" rehearse --gpu rtx-4090 --force -o cuda.db -- "$python" ../train.py cuda > cuda.log 2>&1 ||
        { cat cuda.log; exit 1; }
    grep -E 'fits: peak [1-9]' cuda.log | sed "s/^tidemark:/$way, rehearsed:/" | grep . || { cat cuda.log; exit 1; }
else
    echo "$way, rehearsed: not tried, this PyTorch is a CPU build"
fi

if [ "$way" = wheel ]; then
    "$python" -m pip uninstall -q -y tidemark
    left=$(find ../v -iname '*tidemark*' ! -path '*/torch/*')
    [ -z "$left" ] || { echo "pip uninstall left" $left; exit 1; }
fi
