/*
 * info_processes.h - the processes of a recording, as `tidemark info` shows them.
 */
#ifndef TIDEMARK_VIEWER_INFO_PROCESSES_H
#define TIDEMARK_VIEWER_INFO_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"
#include "report.h"

enum info_end { INFO_END_NONE, INFO_END_EXIT, INFO_END_SIGNAL, INFO_END_OTHER };

struct info_ending { /* of a process */
    const char *ended;
    int64_t exit_code, signal; /* QUERY_NONE */
};

/* Of column `ended` of a process; from NULL or "": INFO_END_NONE. */
enum info_end info_end_of(const char *ended);
/* "exit 1", "SIGKILL", "not seen" */
void info_put_ended(struct buf *out, const struct info_ending *ending);

bool info_is_selected(const struct report *report, int64_t id);
/* People who ask for no process see the first of those that are alike. */
bool info_is_folded(const struct report *report);
/* 0 or an error. */
int info_put_processes(struct report *report);

#endif
