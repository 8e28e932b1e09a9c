/*
 * peak_parts.h - the parts of `tidemark peak` that have files of their own: the request that was
 * refused, what it comes to, what backward added, what changed since the step before, and what
 * would lower the peak.
 */
#ifndef TIDEMARK_VIEWER_PEAK_PARTS_H
#define TIDEMARK_VIEWER_PEAK_PARTS_H

#include "growth.h"
#include "buf.h"
#include "holders.h"
#include "host.h"
#include "ladder.h"
#include "levers.h"
#include "oom_fit.h"
#include "peak.h"
#include "running.h"
#include "why.h"
#include "driven_report.h"
#include "emit.h"
#include "report.h"

/* One process on one device. */
struct peak_part {
    struct emit *emit;
    const struct report_scope *scope;
    const struct peak *peak;
    struct ladder ladder;
    int64_t top;       /* rows of a grouping */
    struct why change; /* since the peak of the step before */
    bool changed;      /* that was read: there is such a step, and somebody to show it to */
    int64_t rise;      /* of allocated, since that peak */
    int64_t step_before;
    char *phase_before; /* of that step's peak, if it is not that of this one; NULL */
    struct levers levers;
    struct ooms ooms; /* the newest one, if any */
    struct oom_fit oom_fit;
    bool went_on;        /* after it */
    struct peak highest; /* of the run, where `peak` is a refusal that ended it */

    struct growth growth;
    struct growth_cause growth_cause;
    struct host_kill kill; /* by the kernel, for its memory */
    struct running running;
    struct driven_part driven; /* where no block ever was */
};

void peak_put_scope(const struct peak_part *part);

/* All of the process on the device; `top` rows of a grouping. 0 or an error; peak_part_clear and
 * peak_clear in both cases. */
int peak_part_read(struct report *report, const struct report_scope *scope, int64_t top,
                   struct peak_part *part, struct peak *peak);
bool peak_part_shows(const struct peak_part *part); /* there is something to report */
void peak_part_clear(struct peak_part *part);
/* Where the blocks that are known are not all that was allocated. */
void peak_note_difference(struct emit *emit, const struct peak *peak);

/* The first screen, with so many holders: of several processes a table of them, and the page of
 * one. 0 or an error. */
int peak_put_page(struct report *report, int64_t most);

/* Those that --all prints, in the order in which they stand behind each other. */
enum peak_table_name {
    PEAK_WHERE,
    PEAK_FINDINGS,
    PEAK_LEVERS,
    PEAK_LADDER,
    PEAK_KINDS,
    PEAK_PHASES,
    PEAK_SITES,
    PEAK_BACKWARD,
    PEAK_CHANGE,
    PEAK_TABLES
};
struct peak_table {
    const char *key; /* of its section */
    void (*put)(const struct peak_part *part);
    const struct emit_column *columns;
    size_t column_count;
};
extern const struct peak_table peak_tables[PEAK_TABLES];

/* Those of a device on which no framework had a block. */
void peak_put_ladder_of_driven(const struct peak_part *part);
/* 0 or an error. */
int peak_read_ladder(struct db *db, struct peak_part *part);

enum { PEAK_CHANGES = 4 }; /* groups that a peak has more or less of than the step before: shown */

enum {
    PEAK_CHANGE_COLUMNS = 14,
    PEAK_LEVER_COLUMNS = 20,
    PEAK_ADDED_COLUMNS = 6,
    PEAK_FINDING_COLUMNS = 5
};

extern const struct emit_column peak_finding_columns[PEAK_FINDING_COLUMNS];
void peak_put_findings(const struct peak_part *part);

/* Of the page: the kinds that hold most, and why. */
void peak_put_cause(const struct peak_part *part, const struct holders *holders);

/* 0 or an error; peak_oom_clear in both cases. */
int peak_oom_read(struct report *report, struct peak_part *part);
/* What was live when the request was refused that ended the run, in place of the highest point; it
 * is not found where nothing ever was. */
int peak_oom_read_moment(struct report *report, struct peak_part *part, struct peak *out);
void peak_oom_clear(struct peak_part *part);
void peak_put_oom(const struct peak_part *part); /* for people */
/* "highest: 360 MiB in step 3, backward", as in `tidemark phases`: of a run that a refusal ended.
 */
void peak_oom_highest(const struct peak_part *part, struct buf *out);
/* The same for the page: a heading and a few lines. */
void peak_put_refusal(const struct peak_part *part);
int peak_put_oom_programs(struct report *report, const struct peak_part *all);

/* 0 or an error; growth_cause_clear in both cases. */
int peak_growth_read(struct db *db, struct peak_part *part);
/* Of the page; the recording is named by " run.db" or "". */
void peak_put_growth_line(const struct peak_part *part, const char *named);
void peak_put_growth(const struct peak_part *part); /* for people */
void peak_put_growth_programs(struct report *report, const struct peak_part *all);

void peak_put_killed(const struct peak_part *part); /* for people */
void peak_put_killed_programs(struct report *report, const struct peak_part *all);

extern const struct emit_column peak_change_columns[PEAK_CHANGE_COLUMNS];
/* 0 or an error; peak_change_clear in both cases. */
int peak_change_read(struct db *db, struct peak_part *part);
/* Is it a rise of a hundredth of the peak, which people see? Programs get each change. */
bool peak_change_is_shown(const struct peak_part *part);
void peak_change_clear(struct peak_part *part);
void peak_put_change(const struct peak_part *part);

extern const struct emit_column peak_added_columns[PEAK_ADDED_COLUMNS];
void peak_put_added(const struct peak_part *part);

extern const struct emit_column peak_lever_columns[PEAK_LEVER_COLUMNS];
void peak_put_levers(const struct peak_part *part);
/* Why some are not there, or none at all. */
void peak_put_why_none(const struct peak_part *part);
/* "at most ", "about ", "": of what one is worth, of several ranks together. */
const char *peak_grade_of_worth(const struct lever *lever);
void peak_put_amount(struct emit *emit, int64_t bytes, const char *grade);

/* The best of them, and all together; the text of the first is of so many lines, those of the
 * second and the third of so many together, 2 or more. `limits`: with a line on what a change to a
 * refused request does not say. */
void peak_put_best_levers(const struct peak_part *part, unsigned first, unsigned lines,
                          bool limits);

/* What ran on the device then: nothing at all where it was not recorded. 0 or an error;
 * running_clear in both cases. */
int peak_running_read(struct db *db, struct peak_part *part);
void peak_put_running(const struct peak_part *part);

#endif
