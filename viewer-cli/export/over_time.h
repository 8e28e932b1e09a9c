/*
 * over_time.h - what a recording has over time, in the order of its tables: for formats that draw
 * it.
 *
 * Counters are the view timeline's and, of phases, the values at their begin, their highest moment
 * and their end, which are exact: so the highest of them is the peak. On a device that no framework
 * had a block on they are what the driver gave. A viewer puts them into the order of time.
 */
#ifndef TIDEMARK_EXPORT_OVER_TIME_H
#define TIDEMARK_EXPORT_OVER_TIME_H

#include <stdbool.h>
#include <stdint.h>

#include "report.h"

#define OVER_TIME_NONE INT64_MIN

enum over_time_counter {
    COUNTER_ALLOCATED,
    COUNTER_RESERVED,
    COUNTER_WAITING, /* freed, and a stream still uses it */
    COUNTER_DEVICE_USED,
    COUNTER_DRIVER, /* of a device without a framework's blocks */
    COUNTERS
};
const char *over_time_counter_name(enum over_time_counter counter);

struct over_time_slice {
    const struct report_process *process;
    const char *name, *kind;
    int64_t step;             /* OVER_TIME_NONE */
    int64_t begin_ns, end_ns; /* of what had not ended: the end of the record */
    int64_t thread; /* of a phase that is one thread's own; OVER_TIME_NONE: the process's */
    bool is_step;
};

struct over_time_refusal {
    const struct report_process *process;
    const char *device;          /* NULL: not known */
    int64_t at_ns, asked, site;  /* site: OVER_TIME_NONE */
    int64_t allocated, reserved; /* OVER_TIME_NONE */
};

/* Each returns 0 or an error, which ends the walk. */
struct over_time {
    void *self;
    int (*point)(void *self, const struct report_scope *scope, enum over_time_counter counter,
                 int64_t at_ns, int64_t value);
    int (*slice)(void *self, const struct over_time_slice *slice);
    int (*refusal)(void *self, const struct over_time_refusal *refusal);
};

/* Slices come by process: its steps, then its phases, each before those inside it. */
int over_time_walk(struct report *report, const struct over_time *over_time);

/* "rank 0: python3 train.py (pid 4711)"; to be freed. 0 or an error. */
int over_time_process_name(struct report *report, const struct report_process *process, char **out);
/* What viewers know it by: its pid, or its number in the recording where others have that pid. */
int64_t over_time_pid(const struct report *report, const struct report_process *process);

#endif
