/*
 * export.h - what a recording says, written for other people's tools. Each format is a file to_*.c
 * with one function, and a row of the table in cmd_export.c.
 *
 * A writer asks the same analysis as the reports do, so that its sums are theirs, and writes as it
 * reads: what it keeps is what lives at one moment, and a number for each call stack that came up,
 * never the blocks of a run.
 *
 * Names come from the recorded program and may be anything: each format has its own rule for what
 * it cannot hold, and no name ends a record or opens one.
 */
#ifndef TIDEMARK_EXPORT_H
#define TIDEMARK_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "export_out.h"
#include "report.h"

#define EXPORT_NONE INT64_MIN

struct export
{
    struct report *report;
    struct export_out *out;
    const char *moment;    /* --at; NULL: the format's default */
    int64_t least;         /* --blocks; EXPORT_NONE: a thousandth of the peak */
    int64_t blocks, bytes; /* for the last line: what was written, of `what` */
    const char *what;      /* NULL: neither is said */
};

typedef int export_writer(struct export *export); /* 0 or an error */
export_writer export_collapsed, export_speedscope, export_pprof, export_chrome, export_perfetto,
    export_memory_viz, export_csv;

/* "process 2 (rank 0), cuda:0". */
#define EXPORT_SCOPE_TEXT 96
const char *export_scope_text(char text[EXPORT_SCOPE_TEXT], const struct report_scope *scope);

/* to_parquet.c: becomes the interpreter that writes it; returns an exit code if it cannot. */
struct export_parquet {
    const char *database; /* NULL: the newest one here */
    const char *folder;
    const char *run, *commit; /* NULL */
};
int export_parquet(const struct export_parquet *wanted);

#endif
