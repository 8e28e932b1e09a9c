/*
 * driven_report.h - what reports say of a device that no framework had a block on:
 * analysis/driver/driven.h. Sections of their own, with figures of the driver's: programs get them
 * only where there is such a device.
 */
#ifndef TIDEMARK_VIEWER_DRIVEN_REPORT_H
#define TIDEMARK_VIEWER_DRIVEN_REPORT_H

#include "driven.h"
#include "ladder.h"
#include "report.h"

/* One process on one device, at one moment or two. All zero: nothing. */
struct driven_part {
    const struct report_scope *scope;
    struct driven driven;
    struct instant before, instant; /* before: of a change */
    struct driven_moment before_moment, moment;
    bool shown; /* there is such a moment */
    char *path; /* of the phase then, with those around it; NULL */
    struct ladder ladder;
    struct driven_held held;
};

/* As moment_find, on whatever device. */
int driven_moment_find(const struct report *report, const struct report_scope *scope,
                       const char *name, struct instant *out);

/* The peak; nothing where blocks were. 0 or an error; driven_part_clear in any case. */
int driven_part_read(const struct report *report, const struct report_scope *scope,
                     struct driven_part *out);
/* What changed from one moment to another; NULL: between the highest points of the first and the
 * last step of --steps, or of the last two. ERR_NOTFOUND: there is no such moment, and before or
 * instant is labelled. */
int driven_part_change(const struct report *report, const struct report_scope *scope,
                       const char *first, const char *second, struct driven_part *out);
void driven_part_clear(struct driven_part *part);

/* People: all of it behind a heading. Programs: the rows of one section. */
void driven_put_peak(struct report *report, const struct driven_part *part);
void driven_put_held(struct report *report, const struct driven_part *part, int64_t top);
void driven_put_change(struct report *report, const struct driven_part *part);
void driven_put_groups(struct report *report, const struct driven_part *part, int64_t top);

/* The phases of a process with what the driver had given at their ends, and the highest inside.
 * *any is set if there was a row. driven_list.c */
int driven_list_phases(struct report *report, const struct report_scope *scope, bool all,
                       bool *any);
/* Each change. */
int driven_list_timeline(struct report *report, const struct report_scope *scope, bool *any);

#endif
