/*
 * exposition.h - meters as text, in the two forms that Prometheus and its friends read.
 *
 * OpenMetrics 1.0 has units and an end; a counter's family has no _total in its name, its samples
 * have. The older text format 0.0.4, all that node_exporter's textfile collector reads, has neither
 * and calls the family as the sample.
 */
#ifndef TIDEMARK_RECORDER_EXPOSITION_H
#define TIDEMARK_RECORDER_EXPOSITION_H

#include "buf.h"
#include "meters.h"

enum exposition { EXPOSITION_TEXT, EXPOSITION_OPENMETRICS, EXPOSITION_COUNT };

/* The value of the header Content-Type. */
const char *exposition_type(enum exposition form);

/* `run` is the label of each sample, `version` that of tidemark_recorder_info. What is not known
 * has no sample, and a family without samples is not there. */
void exposition_put(struct buf *out, const struct meters *meters, const char *run,
                    const char *version, enum exposition form);

#endif
