/*
 * diff_report.h - the tables of `tidemark diff`.
 */
#ifndef TIDEMARK_VIEWER_DIFF_REPORT_H
#define TIDEMARK_VIEWER_DIFF_REPORT_H

#include "diff.h"
#include "diff_phases.h"
#include "report.h"

struct diff_options {
    struct report_options common;
    const char *moment;
    int64_t top;
    bool all;
};

struct diff_part { /* a process and a device of A, and its partner in B */
    struct emit *emit;
    const struct report *reports[DIFF_SIDES];
    const struct report_scope *scopes[DIFF_SIDES];
    const struct diff_options *options;
    struct diff diff;
    struct diff_phases phases;
};

/* The columns of each table begin with these two. */
void diff_put_scope(const struct diff_part *part);
#define DIFF_SCOPE                                                                                 \
    {"process", NULL, EMIT_PLAIN, EMIT_PROGRAMS},                                                  \
    {                                                                                              \
        "device", NULL, EMIT_TEXT, EMIT_PROGRAMS                                                   \
    }

struct diff_table {
    const char *key;
    const struct emit_column *columns;
    size_t column_count;
    void (*put)(const struct diff_part *part);
};
extern const struct diff_table diff_change_table, diff_phases_table, diff_categories_table,
    diff_groups_table;

#endif
