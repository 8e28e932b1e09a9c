#!/bin/sh
# run.sh PYTHON PROBE SCRIPT [ARGUMENT ...] - runs SCRIPT with the probe preloaded, as libtidemark.so
# is. 77, skipped, where there is no such Python. TIDEMARK_TEST_PRELOAD comes before the probe.
python=$1 probe=$2 script=$3
shift 3
if ! "$python" -c 'import ctypes' 2>/dev/null; then
    echo "skipped: $python is not there, or has no ctypes"
    exit 77
fi
LD_PRELOAD="$TIDEMARK_TEST_PRELOAD${TIDEMARK_TEST_PRELOAD:+ }$probe" \
    exec "$python" "$script" "$probe" "$@"
