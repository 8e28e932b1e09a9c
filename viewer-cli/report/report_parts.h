/*
 * report_parts.h - what the parts of report.h need of each other.
 */
#ifndef TIDEMARK_VIEWER_REPORT_PARTS_H
#define TIDEMARK_VIEWER_REPORT_PARTS_H

#include "report.h"

/* NULL if it is not asked for. */
const struct report_process *report_process_of(const struct report *report, int64_t id);

/* Reads the processes and devices that the options ask for. 0 or an error; *code: an exit status,
 * with a message, where they are not there. */
int report_find_scopes(struct report *report, int *code);

/* Notices what was lost, what was thinned out, and that the recording is not finished. 0 or an
 * error. */
int report_notice_all(struct report *report);
/* Prints the list, and that of the report beside it: then each line has its path. 0 or an error. */
int report_put_warnings(struct report *report);

/* If it is a rehearsal, a line that says so and of which GPU. 0 or an error. */
int report_say_rehearsed(struct report *report, struct emit *emit, const char *whose);

#endif
