/*
 * metrics_file.h - the metrics as a file: written anew under a name of its own and then renamed, so
 * that a reader has the old text or the new one, never half of one.
 */
#ifndef TIDEMARK_RECORDER_METRICS_FILE_H
#define TIDEMARK_RECORDER_METRICS_FILE_H

#include "buf.h"
#include "exposition.h"

/* What is there already must be empty, or metrics of ours. A base_err; *why says it. */
int metrics_file_check(const char *path, struct buf *why);
/* NAME.prom is what node_exporter reads, which is the older form. */
enum exposition metrics_file_form(const char *path);
int metrics_file_write(const char *path, const struct buf *text, struct buf *why);

#endif
