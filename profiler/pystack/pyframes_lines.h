/*
 * pyframes_lines.h - the line of an instruction, from the three forms of line table that CPython
 * had since 3.9. Tables come from the program: whatever their bytes, no decoder reads beyond them.
 */
#ifndef TIDEMARK_PROFILER_PYFRAMES_LINES_H
#define TIDEMARK_PROFILER_PYFRAMES_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "pyframes_layout.h"

struct pyframes_line_table {
    const uint8_t *bytes;
    size_t count;
    int32_t first_line; /* of the code object: where counting begins */
};

/* The line of the instruction at byte `at` (negative: the frame has not begun); 0 = it has none. */
uint32_t pyframes_line(enum pyframes_lines form, const struct pyframes_line_table *table,
                       int64_t at);

#endif
