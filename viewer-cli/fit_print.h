/*
 * fit_print.h - what `tidemark fit` found, printed.
 */
#ifndef TIDEMARK_VIEWER_FIT_PRINT_H
#define TIDEMARK_VIEWER_FIT_PRINT_H

#include "analysis/fit.h"
#include "report.h"

enum { FIT_ROWS = 8, FIT_CONF = 256 };

struct fit_options {
    struct report_options common;
    int64_t memory, reserve; /* REPORT_ANY = not given */
    const char *settings;    /* NULL */
    bool table;
    struct alloc_config given; /* settings, read */
};

enum fit_answer { FIT_NOT_ASKED, FIT_FITS, FIT_DOES_NOT, FIT_UNKNOWN };

struct fit_row {
    char conf[FIT_CONF]; /* as alloc_config_format has it: equal settings are equal texts */
    const char *text;    /* as it was given; "" = default */
    struct fit_need need;
};

struct fit_part {
    struct report *report;
    const struct fit_options *options;
    const struct report_scope *scope;
    struct fit fit;
    bool loaded; /* there was something to replay */
    struct fit_row rows[FIT_ROWS];
    size_t row_count;
    enum fit_answer answer;
    struct fit_verdict result; /* unless that is unknown */
};

int64_t fit_reserve(const struct fit_part *part);
/* All parts, of which there are `count`, one for each scope. */
void fit_print(struct report *report, const struct fit_part *parts, size_t count);

#endif
