/*
 * oom_report.h - allocations that failed, for every report that explains them.
 */
#ifndef TIDEMARK_VIEWER_OOM_REPORT_H
#define TIDEMARK_VIEWER_OOM_REPORT_H

#include "oom_fit.h"
#include "report.h"

struct oom_part {
    struct emit *emit;
    const struct report_scope *scope;
    const struct ooms *ooms;
    int64_t top;               /* call sites of each */
    const struct oom_fit *fit; /* of the last of them; NULL = none was made */
    bool in_peak;              /* among the parts of a peak's report */
    bool levers;               /* which come below it there */
};

/* For people: a record and what pins for each failure, and what would have let the last through. */
void oom_put_people(const struct oom_part *part);
/* The same for one failure among other things: what pins only where it is the cause. */
void oom_put_brief(const struct oom_part *part, const char *title);
/* The last one in a few lines: with a heading where it ended the run, else one line. */
void oom_put_refusal(const struct oom_part *part, bool went_on);
/* For programs: the sections "oom", "oom_heaps", "oom_sites", "oom_memory" and "oom_settings",
 * whole or empty, with the rows of all parts. */
void oom_put_programs(struct emit *emit, const struct oom_part *parts, size_t count);

/* What would have let it through: for people, and the two sections for programs. */
void oom_fit_put_people(const struct oom_part *part, const struct oom *oom);
void oom_fit_put_programs(struct emit *emit, const struct oom_part *parts, size_t count);

#endif
