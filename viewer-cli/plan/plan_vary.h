/*
 * plan_vary.h - what `tidemark plan` varies: names with their values, and the words of a command
 * line in which "{NAME}" stands for one of them.
 *
 *     B=1..512        whole numbers          B=8..512:8      every eighth of them
 *     B=1,2,4,8       a list of numbers      dtype=fp32,bf16 a list of words
 *
 * Of a name whose values are numbers, a greater one is taken to need no less memory. One name is
 * `searched`: the range, or else the longest list of numbers. All others make combinations.
 *
 * Invariants (vary_is_valid): names are not empty and no two are alike; each has a value; numbers
 * ascend strictly; a range has no texts; at most one name is a range, and it is the one searched.
 */
#ifndef TIDEMARK_VIEWER_PLAN_VARY_H
#define TIDEMARK_VIEWER_PLAN_VARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define VARY_NAMES 8
#define VARY_NONE SIZE_MAX
#define VARY_COMBINATIONS 4096 /* of the names that are not searched */

struct vary_name {
    char *name;
    size_t count;        /* of its values */
    bool range, numbers; /* a range is of numbers */
    int64_t first, step; /* of a range */
    int64_t *list;       /* numbers of a list */
    char **texts;        /* of a list */
};

/* Which value of each name: places, in the order of the names. */
struct vary_at {
    size_t of[VARY_NAMES];
};

struct vary {
    struct vary_name names[VARY_NAMES];
    size_t count;
    size_t searched; /* place of a name; VARY_NONE: each combination stands for itself */
    size_t combinations;
};

/* Reads one more "NAME=VALUES". 0; ERR_ARG with `why` for a user; ERR_NOMEM. */
int vary_add(struct vary *vary, const char *text, char *why, size_t room);
/* Once all are there. As vary_add. */
int vary_settle(struct vary *vary, char *why, size_t room);
void vary_clear(struct vary *vary);
bool vary_is_valid(const struct vary *vary);

/* The places of combination number `index`, that of the searched name being 0. */
struct vary_at vary_combination(const struct vary *vary, size_t index);
/* No value of `less` is another word than in `more`, and no number of it is greater: what fits
 * there, with the same value of the searched name, fits here. */
bool vary_is_less(const struct vary *vary, const struct vary_at *less, const struct vary_at *more);

int64_t vary_number(const struct vary_name *name, size_t at); /* of a name of numbers */
void vary_put_value(const struct vary_name *name, size_t at, struct buf *out);
/* "T=256, B=48": all names but `without`, which may be VARY_NONE. */
void vary_put_text(const struct vary *vary, const struct vary_at *at, size_t without,
                   const char *between, struct buf *out);
/* The text with the values in it. Braces around anything else stay. */
void vary_fill(const struct vary *vary, const struct vary_at *at, const char *text,
               struct buf *out);
bool vary_is_in(const struct vary_name *name, const char *text);

#endif
