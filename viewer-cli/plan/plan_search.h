/*
 * plan_search.h - which value to try next, so that few tries find the largest that fits.
 *
 * A try costs a run of the program, so each is told not only whether it fits but how much memory it
 * needs. That grows with the value by a law that is nearly a straight line, or a parabola: the next
 * try is where the law says that the memory ends. Where the law is wrong, steps from there grow
 * threefold until the other side is found, and bisection does the rest. What comes out rests on no
 * law: the largest that was tried and fits, and the next value, which was tried and does not.
 *
 * Places are those of a list of values that ascend: 0 to count - 1.
 *
 * The first values may say nothing: a batch of one is refused by BatchNorm, however much memory
 * there is. They are left out, and the search begins behind them.
 *
 * Invariants (search_is_valid): -1 <= floor <= low < high <= count; low fits or is floor, of which
 * and of all below it nothing is known; high does not fit or is count; points ascend strictly in
 * their numbers.
 */
#ifndef TIDEMARK_VIEWER_PLAN_SEARCH_H
#define TIDEMARK_VIEWER_PLAN_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan_vary.h"

#define SEARCH_POINTS 64
#define SEARCH_UNKNOWN (-1) /* need */

struct search_point {
    double number, need; /* of a value that fits: bytes */
};

struct search {
    const struct vary_name *name;
    double memory; /* that is there for it */
    int64_t low, high, floor;
    struct search_point points[SEARCH_POINTS];
    size_t point_count;
    int64_t step;   /* away from the law's place, after it was wrong; 0: it was not yet */
    bool step_down; /* the way it was wrong last */
};

/* `most`: places from there on are known not to fit; name->count: none is. */
void search_begin(struct search *search, const struct vary_name *name, size_t most, int64_t memory);
/* False: it is over. */
bool search_next(struct search *search, size_t *at);
/* What came of a try at a place; `need` SEARCH_UNKNOWN where nobody knows, or if it does not fit.
 */
void search_learn(struct search *search, size_t at, bool fits, int64_t need);
/* The place after all that say nothing does not, either: for another reason than memory. */
void search_skip(struct search *search);
/* What is known of another card, or from another search, before the first try: points only. */
void search_hint(struct search *search, size_t at, int64_t need);
bool search_is_valid(const struct search *search);

#endif
