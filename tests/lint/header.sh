#!/bin/sh
# header.sh ROOT CC: include/tidemark.h compiles by itself, twice over, without a warning, as C99,
# C11 and, where there is a C++ compiler, C++11; and with every function used.
set -eu
. "$(dirname "$0")/common.sh"
cc=${2:?a C compiler}

work=$(mktemp -d)
trap 'rm -rf "$work" "$report"' EXIT
cat > "$work/use.c" << 'END'
#include "tidemark.h"
#include "tidemark.h"

int main(void)
{
    static const char memory[64] = {0};
    struct tidemark_block block = {sizeof block, 0, 0, 0, memory, 64, 60};
    tidemark_heap_t heap = tidemark_heap_open(TIDEMARK_DEVICE_VIRTUAL, 0, "heap");
    tidemark_phase_begin("forward");
    tidemark_step_begin(1);
    tidemark_segment_alloc(heap, memory, 64);
    tidemark_block_alloc(&block);
    tidemark_alloc(heap, memory, 64);
    tidemark_tag(heap, memory, 64, TIDEMARK_PARAMETER, "weight");
    tidemark_free(heap, memory);
    tidemark_segment_free(heap, memory);
    tidemark_free_waits(heap, memory);
    tidemark_idle(heap, memory);
    tidemark_segment_map(heap, memory, 64);
    tidemark_segment_unmap(heap, memory, 64);
    tidemark_setting(heap, "allocator", "mine");
    tidemark_alloc_at(heap, memory, 64, tidemark_python_site());
    tidemark_mark("mark", -1);
    tidemark_oom(heap, 64, TIDEMARK_SITE());
    tidemark_step_end();
    tidemark_phase_end("forward");
    return tidemark_recording();
}
END
cp "$work/use.c" "$work/use.cc"

done=""
# try STANDARD COMPILER FILE
try()
{
    if "$2" "-std=$1" -Wall -Wextra -Wpedantic -Werror -O2 -Iinclude -o "$work/use" "$3" \
        2> "$work/errors" && "$work/use"; then
        done="$done $1"
    else
        { echo "include/tidemark.h: not as $1 by $2:"; cat "$work/errors"; } >> "$report"
    fi
}

try c99 "$cc" "$work/use.c"
try c11 "$cc" "$work/use.c"
for cxx in ${CXX:-} g++ c++ clang++; do
    command -v "$cxx" > /dev/null || continue
    try c++11 "$cxx" "$work/use.cc"
    break
done
case $done in *c++11*) ;; *) [ -s "$report" ] || done="$done (C++ skipped: no compiler)" ;; esac
finish "$done" "the public header compiles as"
