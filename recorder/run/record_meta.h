/*
 * record_meta.h - facts of the run as a whole: table meta, and our own cost.
 */
#ifndef TIDEMARK_RECORDER_RECORD_META_H
#define TIDEMARK_RECORDER_RECORD_META_H

#include <stdbool.h>
#include <stdint.h>

#include "batch.h"
#include "drain.h"
#include "record.h"
#include "writer.h"

struct record_meta {
    const struct record_options *options; /* defaults filled in */
    const char *host;
    uint64_t start_ns;    /* CLOCK_MONOTONIC */
    const char *no_guest; /* NULL */
};
void record_meta_begin(struct batch *batch, const struct record_meta *meta);

struct record_cost {
    struct drain_stats drain;
    struct writer_stats writer;
    uint64_t supervisor_cpu_ns;
    uint64_t strangers, malformed; /* connections that were not heard */
    uint64_t missing;              /* processes that reached us and are not recorded */
};
void record_meta_cost(struct batch *batch, const struct record_cost *cost);
/* `ended`: in words; `code` of the root, as a shell would show it. */
/* `steps`: after so many we ended the program, as --steps asked; 0: it came to its end by itself.
 */
void record_meta_end(struct batch *batch, const char *ended, uint64_t run_ns, int64_t steps);
/* The very last row of a recording that is whole; false without memory. */
bool record_meta_finished(struct batch *batch);

#endif
