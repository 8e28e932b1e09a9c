/*
 * report_parts.h - what the parts of report.h need of each other.
 */
#ifndef TIDEMARK_VIEWER_REPORT_PARTS_H
#define TIDEMARK_VIEWER_REPORT_PARTS_H

#include "report.h"

/* NULL if it is not asked for. */
const struct report_process *report_process_of(const struct report *report, int64_t id);

/* What was lost, what was thinned out, and that the recording is not finished; `whose` is put
 * before each. 0 or an error. */
int report_warn(struct report *report, struct emit *emit, const char *whose);

/* If it is a rehearsal, a line that says so and of which GPU. 0 or an error. */
int report_say_rehearsed(struct report *report, struct emit *emit, const char *whose);

#endif
