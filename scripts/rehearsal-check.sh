#!/bin/sh
# rehearsal-check.sh [OUT]: the project against PyTorch's real CUDA code and its real allocator, on a
# machine without a GPU: parts of gpu-check.sh run as rehearsals, with each version of PyTorch. Databases
# and logs go into the folder OUT (build/rehearsal-check); a line for each part is printed, and is in
# OUT/summary.txt. docs/gpu.md says what each proves. Exit status: 0 no part failed, 1 one did, 2 usage.
#
# A virtual environment for each version is made in TIDEMARK_VENVS (build/venvs): several GB each, once.
# TIDEMARK_TORCH names the versions, TIDEMARK_PARTS the parts, TIDEMARK_GPU_PROFILE another GPU,
# TIDEMARK another command.
set -eu
cd "$(dirname "$0")/.."
root=$(pwd)
[ $# -le 1 ] || { echo "usage: scripts/rehearsal-check.sh [OUT]" >&2; exit 2; }
out=${1:-$root/build/rehearsal-check}
venvs=${TIDEMARK_VENVS:-$root/build/venvs}
versions=${TIDEMARK_TORCH:-2.6.0 2.9.0 2.11.0 2.14.1}
parts="sample_rnn sample_ddp sample_train stats history import pluggable cupti ladder databases"
parts=${TIDEMARK_PARTS:-$parts}
gpu=${TIDEMARK_GPU_PROFILE:-a100-40gb}

mkdir -p "$out" "$venvs"
case $out in /*) ;; *) out=$(cd "$out" && pwd) ;; esac
case $venvs in /*) ;; *) venvs=$(cd "$venvs" && pwd) ;; esac
: > "$out/summary.txt"

say()
{
    echo "$*" | tee -a "$out/summary.txt"
}

# compiler_headers FOLDER: what CUDA's own headers include, for the samples; PyTorch does not bring it.
compiler_headers()
{
    cuda=$("$1/bin/python3" -c 'from importlib.metadata import version
print(".".join(version("nvidia-cuda-runtime").split(".")[:2]))') &&
        "$1/bin/pip" install --quiet --no-deps "nvidia-cuda-crt==$cuda.*" "nvidia-cuda-cccl==$cuda.*"
}

# venv VERSION: its folder, made if need be.
venv()
{
    folder=$venvs/torch-$1
    if [ ! -e "$folder/complete" ]; then
        rm -rf "$folder"
        python3 -m venv "$folder" && "$folder/bin/pip" install --quiet "torch==$1" numpy \
            > "$out/pip-$1.txt" 2>&1 && : > "$folder/complete" || {
            tail -n 3 "$out/pip-$1.txt" >&2
            return 1
        }
        compiler_headers "$folder" >> "$out/pip-$1.txt" 2>&1 || :
    fi
    echo "$folder"
}

# The samples are built with the CUDA of the last of them, and run with it; their memory is not PyTorch's.
last=""
for version in $versions; do
    venv "$version" > "$out/venv.txt" 2>&1 && last=$version
done

hints()
{
    [ -z "$last" ] || "$venvs/torch-$last/bin/python3" -c \
        'import sysconfig; print(sysconfig.get_path("purelib"))'
}

# parts_of VERSION
parts_of()
{
    for part in $parts; do
        case $part in
        sample_*) [ "$1" = "$last" ] || continue ;;
        esac
        printf '%s ' "$part"
    done
}

# What the parts need: the command, the allocator as a library, the samples, and the stand-ins.
TIDEMARK_CUDA_HINTS=${TIDEMARK_CUDA_HINTS-$(hints)} \
    scripts/gpu-check.sh --prepare > "$out/prepare.txt" 2>&1 || {
    cat "$out/prepare.txt" >&2
    exit 1
}
grep 'CUDA samples left out' "$out/prepare.txt" || :
tidemark=${TIDEMARK:-$root/build/release/viewer-cli/tidemark}
stand_ins=$root/build/release/rehearsal/lib

# wrappers FOLDER PYTHON: a python3 that sees the GPU also where nobody records, and a command whose
# `record` is a rehearsal.
wrappers()
{
    mkdir -p "$1"
    memory=$("$tidemark" rehearse --gpu list | awk -v name="$gpu" '$1 == name' | wc -l)
    [ "$memory" -eq 1 ] || { echo "no GPU profile is called $gpu" >&2; exit 2; }
    cat > "$1/tidemark" << END
#!/bin/sh
case \${1:-} in
record) shift; exec "$tidemark" rehearse --gpu $gpu "\$@" ;;
esac
exec "$tidemark" "\$@"
END
    cat > "$1/python3" << END
#!/bin/sh
case \${LD_PRELOAD:-} in
*libcuda.so.1*) ;;
*)
    LD_PRELOAD="\${LD_PRELOAD:+\$LD_PRELOAD:}$stand_ins/libcuda.so.1"
    LD_LIBRARY_PATH="$stand_ins\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
    TIDEMARK_REHEARSAL="gpu=$gpu"
    export LD_PRELOAD LD_LIBRARY_PATH TIDEMARK_REHEARSAL
    ;;
esac
exec "$2" "\$@"
END
    chmod +x "$1/tidemark" "$1/python3"
}

# oom FOLDER: a card that is too small. PyTorch refuses in its own words, and the reports say why.
oom()
{
    status=0
    "$tidemark" rehearse --gpu "$gpu" --memory 1GiB -o "$1/oom.db" -- "$python" -c '
import torch
held = [torch.empty(64 << 20, device="cuda") for _ in range(8)]' > "$1/oom.txt" 2>&1 || status=$?
    [ "$status" -eq 1 ] && grep -q 'CUDA out of memory. Tried to allocate 256.00 MiB' "$1/oom.txt" &&
        "$tidemark" frag --oom "$1/oom.db" > "$1/frag-oom.txt" 2>&1 &&
        grep -q '256 MiB' "$1/frag-oom.txt"
}

failed=0
for version in $versions; do
    folder=$(venv "$version") || {
        say "torch $version: not to be had"
        failed=1
        continue
    }
    python=$folder/bin/python3
    here=$out/$version
    rm -rf "$here"
    wrappers "$here/bin" "$python"
    todo=$(parts_of "$version")
    [ -n "$todo" ] || continue
    TIDEMARK_REHEARSED=1 TIDEMARK=$here/bin/tidemark TIDEMARK_TEST_PYTHON=$here/bin/python3 \
        TIDEMARK_PARTS=$todo TIDEMARK_SECONDS=3600 \
        scripts/gpu-check.sh "$here" > "$here.txt" 2>&1 || failed=1
    grep -E '^[a-z_]+ +(PASS|FAIL|SKIP) ' "$here.txt" | sed "s/^/torch $version: /" |
        tee -a "$out/summary.txt"
    grep -qE '^[a-z_]+ +(PASS|FAIL|SKIP) ' "$here.txt" || failed=1
    if oom "$here"; then
        say "torch $version: oom           PASS"
    else
        say "torch $version: oom           FAIL, see $here/oom.txt"
        failed=1
    fi
done
exit "$failed"
