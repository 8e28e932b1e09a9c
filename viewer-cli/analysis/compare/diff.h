/*
 * diff.h - what lived in one run at a moment, against what lived in another run at its own.
 *
 * The runs share no number of a site, so blocks are matched by what they are for and by the text of
 * two frames, the program's own and the innermost one, without lines: a program that was edited
 * between the runs still has its groups side by side, and one whose script has another name now,
 * too, under the name of A. Blocks without a stack are one group of each category.
 *
 * Where a source's own total counts bytes of which no block is known, those are a group, too, of
 * category DIFF_UNATTRIBUTED: so the groups add up to the change of allocated, always.
 *
 * Invariants (diff_is_valid): on each side the groups, and the categories, add up to `allocated`;
 * no two groups have one category and text; both come by the size of their change, largest first.
 */
#ifndef TIDEMARK_ANALYSIS_DIFF_H
#define TIDEMARK_ANALYSIS_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "group.h"
#include "instant.h"
#include "purpose.h"

#define DIFF_UNATTRIBUTED PURPOSES /* a group that no purpose explains */

enum { DIFF_A, DIFF_B, DIFF_SIDES };

struct diff_side { /* one process on one device of one recording */
    struct db *db;
    int64_t process, device;
    int err; /* of its database, so that a message can name the right one */
};

struct diff_moment {  /* which moment of each run; all zero but the steps: the highest point */
    const char *name; /* as instant.h has them; NULL = the highest point of these steps */
    int64_t first_step, last_step;
};

struct diff_group {
    enum purpose purpose;     /* DIFF_UNATTRIBUTED */
    char *text;               /* the frames without lines; NULL = no stack, or this is a category */
    char *shown[DIFF_SIDES];  /* as view site_short, of its largest site there; NULL = none */
    int64_t site[DIFF_SIDES]; /* that site, GROUP_NONE */
    bool several[DIFF_SIDES]; /* it has more than one such text */
    int64_t bytes[DIFF_SIDES]; /* may be below zero only where they are unattributed */
    int64_t blocks[DIFF_SIDES];
};

struct diff {
    struct instant moments[DIFF_SIDES];
    int64_t living[DIFF_SIDES];    /* bytes of the blocks that lived */
    int64_t allocated[DIFF_SIDES]; /* as it was noted at that moment, else `living` */
    struct diff_group *groups, *categories;
    size_t group_count, group_cap, category_count, category_cap;
    char *renamed[DIFF_SIDES]; /* the script's file there, taken for one: diff_renamed.h; NULL */
};

/* 0; ERR_NOTFOUND: this side has no such moment, and *out has a label for it; or another error. */
int diff_find_moment(struct diff_side *side, const struct diff_moment *moment, struct instant *out);
/* Likewise the highest point of what was until event `last`. */
int diff_find_highest(struct diff_side *side, int64_t last, struct instant *out);

/* 0 or an error, which the side that it came from has in `err`; diff_clear in both cases. */
int diff_read(struct diff_side sides[DIFF_SIDES], const struct instant moments[DIFF_SIDES],
              struct diff *out);
void diff_clear(struct diff *diff);
bool diff_is_valid(const struct diff *diff);

const char *diff_category(const struct diff_group *group); /* its name */
int64_t diff_change(const struct diff_group *group);       /* B less A */
/* What to call a group: with the line if there is only one, B's before A's; NULL = not known. */
const char *diff_group_shown(const struct diff_group *group);

/* Which processes and devices of two recordings belong together: those of one rank, or else the
 * first that is left of each, the second, and so on, but never two that have different ranks; on
 * them the devices of one name, or else the only one that is left of each. */
struct diff_place {
    int64_t process;
    int64_t rank; /* GROUP_NONE = it has none */
    const char *device;
};
#define DIFF_ALONE SIZE_MAX
/* mates[i]: place of a[i]'s partner in b, DIFF_ALONE. Both come by process and device. */
int diff_pair(const struct diff_place *a, size_t a_count, const struct diff_place *b,
              size_t b_count, size_t *mates);

#endif
