#!/bin/sh
# cuda_option.sh ROOT CMAKE: TIDEMARK_CUDA on toolkits made here of empty headers, so that the
# outcome is the same on every machine.
set -eu
root=${1:?the root of the tree}
cmake=${2:?cmake}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

cat > "$work/look.cmake" << 'END'
cmake_minimum_required(VERSION 3.20)
include(${SCRIPT})
message(STATUS "parts=${TIDEMARK_CUDA_PARTS}")
message(STATUS "have=${TIDEMARK_HAVE_CUDA},${TIDEMARK_HAVE_CUPTI},${TIDEMARK_HAVE_CUDNN},${TIDEMARK_HAVE_NCCL}")
END

# expect RESULT WORDS MODE [HINT...]: what the script says, line breaks aside, contains WORDS.
expect()
{
    result=$1
    words=$2
    mode=$3
    shift 3
    hints=$(printf '%s;' "$@")
    got=0
    said=$("$cmake" "-DSCRIPT=$root/scripts/cmake/TidemarkCuda.cmake" "-DTIDEMARK_CUDA=$mode" \
        "-DTIDEMARK_CUDA_HINTS=${hints%;}" -DTIDEMARK_CUDA_USUAL=OFF -P "$work/look.cmake" 2>&1) ||
        got=1
    case $(printf '%s' "$said" | tr -s ' \n' '  ') in *"$words"*) found=1 ;; *) found=0 ;; esac
    if [ "$got" -ne "$result" ] || [ "$found" -ne 1 ]; then
        failed=1
        echo "TIDEMARK_CUDA=$mode $*: exit $got, expected $result with \"$words\"; it said: $said"
    fi
}

# A toolkit as NVIDIA's installer leaves it, CUPTI in its own folder.
kit=$work/kit
mkdir -p "$kit/include" "$kit/extras/CUPTI/include"
echo '#define CUDA_VERSION 12040' > "$kit/include/cuda.h"
echo '#include "cupti_version.h"' > "$kit/extras/CUPTI/include/cupti.h"
echo '#define CUPTI_API_VERSION 22' > "$kit/extras/CUPTI/include/cupti_version.h"

# Two of its wheels, as pip leaves them.
wheels=$work/site-packages
mkdir -p "$wheels/nvidia/cudnn/include" "$wheels/nvidia/nccl/include"
touch "$wheels/nvidia/cudnn/include/cudnn.h"
printf '#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n' \
    > "$wheels/nvidia/cudnn/include/cudnn_version.h"
printf '#define NCCL_MAJOR 2\n#define NCCL_MINOR 20\n' > "$wheels/nvidia/nccl/include/nccl.h"

mkdir "$work/empty"
expect 0 "parts=none (switched off)" OFF "$kit"
expect 0 "have=OFF,OFF,OFF,OFF" OFF "$kit"
expect 0 "CUDA parts: none; not found: CUDA (cuda.h), CUPTI (cupti.h), cuDNN" AUTO "$work/empty"
expect 0 "parts=CUDA 12.4, CUPTI 22" AUTO "$kit"
expect 0 "not found: cuDNN (cudnn.h), NCCL (nccl.h)" AUTO "$kit"
expect 0 "have=ON,ON,OFF,OFF" AUTO "$kit"
expect 0 "parts=CUDA 12.4, CUPTI 22, cuDNN 9.1, NCCL 2.20" ON "$kit" "$wheels"
expect 0 "have=ON,ON,ON,ON" ON "$kit" "$wheels/nvidia"
expect 1 "were not found: cuDNN (cudnn.h), NCCL (nccl.h)." ON "$kit"
expect 1 "were not found: CUDA (cuda.h), CUPTI (cupti.h)." ON "$wheels"
expect 1 'AUTO, ON or OFF, not "YES"' YES "$kit"
[ "$failed" -eq 0 ] && echo "TIDEMARK_CUDA says and does what it should"
