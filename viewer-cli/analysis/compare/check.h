/*
 * check.h - what a recording measures up to, for limits: each check measures one number and says
 * where it came from; judging it is one comparison.
 *
 * What this source does not know is not known, and neither is a number under its limit where events
 * were lost or the recording has not ended: the part that is missing may be the one above it. A
 * number above its limit is above it all the same.
 *
 * Invariants (check_is_valid): a finding that is judged passed or failed has its number; one whose
 * result is not known says why, and may have a number all the same.
 */
#ifndef TIDEMARK_ANALYSIS_CHECK_H
#define TIDEMARK_ANALYSIS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "diff.h"
#include "group.h"

enum check_result { CHECK_PASSED, CHECK_FAILED, CHECK_UNKNOWN };
enum check_unit { CHECK_BYTES, CHECK_RATIO, CHECK_COUNT };

struct check_scope {
    struct db *db;
    int64_t process, device;
    int64_t first_step, last_step; /* INT64_MIN, INT64_MAX = all */
};

struct check_finding { /* to be zero at first, but for `check` and its limit */
    const char *check; /* as its option is called */
    enum check_unit unit;
    int64_t limit; /* bytes or a count */
    double limit_ratio;
    bool growth;         /* what it says is of growth: its limit is that of --max-growth */
    bool relative;       /* its limit is made from a baseline: none without a number */
    bool known;          /* there is a number */
    const char *why_not; /* the result is not known */
    int64_t value;
    double ratio;
    int64_t step;   /* GROUP_NONE */
    char *phase;    /* NULL */
    char *site;     /* NULL */
    char note[200]; /* what else there is to say; "" */
    enum check_result result;
};

/* Each measures: 0 or an error. check_clear in both cases. */
int check_peak(const struct check_scope *scope, struct check_finding *out);
/* Since the process began, as PyTorch counts; of steps: at their ends. */
int check_reserved(const struct check_scope *scope, struct check_finding *out);
/* The highest at the end of a phase after the process's first step. */
int check_fragmentation(const struct check_scope *scope, struct check_finding *out);
/* Bytes a step that call sites left in half of the steps or more, as leaks.h has them. */
int check_left(const struct check_scope *scope, struct check_finding *out);
/* The slope of a straight line through the peaks of the complete steps after the first. */
int check_slope(const struct check_scope *scope, struct check_finding *out);
/* Allocations that failed, on whatever device: not every source says on which. */
int check_oom(const struct check_scope *scope, struct check_finding *out);
int check_lost(const struct check_scope *scope, struct check_finding *out);

/* The peak against a baseline's, DIFF_A: what may be added to that is `more` bytes, or a share. The
 * limit comes out in bytes. Where it fails, the site is that of the group that grew most. */
struct check_increase {
    bool is_share;
    int64_t bytes;
    double share;
};
int check_against(struct diff_side sides[DIFF_SIDES], const struct check_increase *more,
                  int64_t first_step, int64_t last_step, struct check_finding *out);

/* Why what is missing may matter; *why = NULL: nothing is missing. 0 or an error. */
int check_missing(const struct check_scope *scope, const char **why);

/* What of a rehearsal can move a measure: what the allocator was asked for, or also what others
 * took of the GPU. */
enum check_moved { CHECK_BY_ALLOCATOR, CHECK_BY_ALL };

/* Why what a rehearsal did not compute may matter; *why stays as it is if it does not. 0 or an
 * error. */
int check_rehearsed(const struct check_scope *scope, enum check_moved moved, const char **why);

/* Sets the result. `missing` as check_missing has it, NULL if that does not matter. */
void check_judge(struct check_finding *finding, const char *missing);
bool check_is_valid(const struct check_finding *finding);
void check_clear(struct check_finding *finding);
const char *check_result_text(enum check_result result);

#endif
