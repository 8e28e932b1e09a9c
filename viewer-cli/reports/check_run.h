/*
 * check_run.h - one run of tidemark check: what was asked, and what came out.
 *
 * Invariant: the rows stand by process; of each, those of its devices come before its own.
 */
#ifndef TIDEMARK_VIEWER_CHECK_RUN_H
#define TIDEMARK_VIEWER_CHECK_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "check.h"
#include "check_limits.h"
#include "buf.h"
#include "report.h"

struct check_options {
    struct report_options common;
    struct check_limits limits;
    const char *file; /* of limits */
    const char *junit;
};

struct check_row {
    const struct report_process *process; /* NULL: there was no memory anywhere */
    const struct report_scope *scope;     /* NULL: of the whole process */
    struct check_finding finding;
};

struct check_run {
    struct report *report;
    struct report *baseline; /* NULL */
    bool has_gpu;            /* some process of the recording, shown or not */
    size_t *mates;           /* of the report's scopes in the baseline */
    const struct check_options *options;
    struct check_row *rows;
    size_t count, cap;
};

/* Both rows are of one table. What is of a whole process has one of its own where there are several
 * devices: under that of the last one it would seem to be that one's. */
bool check_same_table(const struct check_run *run, const struct check_row *row,
                      const struct check_row *before);
/* One table for each process and device, and one for many that fare alike; what is of a whole
 * process goes with its only device. */
int check_put_rows(struct check_run *run);
void check_say_verdict(const struct check_run *run);
bool check_any_failure(const struct check_run *run); /* as exit status and JUnit say it */
/* Growth beyond its limit; or anything else that failed, what is not known among it. */
bool check_failed_by(const struct check_run *run, bool growth);
int check_make_junit(const struct check_run *run, struct buf *out);

#endif
