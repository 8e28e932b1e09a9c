/*
 * oom_report.h - allocations that failed, for every report that explains them.
 */
#ifndef TIDEMARK_VIEWER_OOM_REPORT_H
#define TIDEMARK_VIEWER_OOM_REPORT_H

#include "analysis/oom.h"
#include "report.h"

struct oom_part {
    struct emit *emit;
    const struct report_scope *scope;
    const struct ooms *ooms;
    int64_t top; /* call sites of each */
};

/* For people: a record and what pins for each failure. */
void oom_put_people(const struct oom_part *part);
/* For programs: the sections "oom", "oom_heaps" and "oom_sites", whole or empty, with the rows of
 * all parts. */
void oom_put_programs(struct emit *emit, const struct oom_part *parts, size_t count);

#endif
