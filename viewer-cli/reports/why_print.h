/*
 * why_print.h - what `tidemark why` found, printed.
 */
#ifndef TIDEMARK_VIEWER_WHY_PRINT_H
#define TIDEMARK_VIEWER_WHY_PRINT_H

#include "report.h"
#include "why.h"

enum { WHY_TOP = 12 }; /* rows, unless --top says how many */

struct why_part {
    struct emit *emit;
    const struct report_scope *scope;
    const struct why *why;
    int64_t top;
};

/* One after the other; and, for programs, each section of all of them. */
void why_print_people(struct report *report, const struct why_part *all, size_t count);
void why_print_programs(struct report *report, const struct why_part *all, size_t count);

#endif
