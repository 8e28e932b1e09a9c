/*
 * ladder_report.h - the ladder as a section, for every report that shows one.
 */
#ifndef TIDEMARK_VIEWER_LADDER_REPORT_H
#define TIDEMARK_VIEWER_LADDER_REPORT_H

#include "ladder.h"
#include "report.h"

enum { LADDER_COLUMNS = 6 };
extern const struct emit_column ladder_columns[LADDER_COLUMNS];

/* The section "ladder" and what is not known from this source. `whole`: the unattributed line is
 * there even when it is nothing. */
void ladder_put(struct emit *emit, const struct report_scope *scope, const struct ladder *ladder,
                const char *title, bool whole);

#endif
