/*
 * handed_out.h - what each call stack asked for over the whole run, thinned blocks included: the
 * sums of view site_total. The view sorts all blocks, which takes a minute for ten million; this
 * reads them once, in their order, and keeps a sum for each call stack.
 *
 * The view is the promise: tests/export compares the two.
 *
 * Invariant: no two sums have the same scope and site.
 */
#ifndef TIDEMARK_EXPORT_HANDED_OUT_H
#define TIDEMARK_EXPORT_HANDED_OUT_H

#include <stddef.h>
#include <stdint.h>

#include "report.h"

struct handed_out_sum {
    const struct report_scope *scope;
    int64_t site; /* STACK_NONE: not known */
    int64_t blocks, bytes;
};

struct handed_out { /* all zero is empty */
    struct handed_out_sum *sums;
    size_t count, cap;
};

/* Of the report's scopes. 0 or an error; handed_out_clear in both cases. */
int handed_out_read(const struct report *report, struct handed_out *out);
void handed_out_clear(struct handed_out *handed_out);

#endif
