/*
 * plan_print.h - what the parts of a plan's report share.
 */
#ifndef TIDEMARK_VIEWER_PLAN_PRINT_H
#define TIDEMARK_VIEWER_PLAN_PRINT_H

#include "emit.h"
#include "plan.h"

struct print {
    struct plan *plan;
    struct emit emit;
    struct emit_column columns[32]; /* of the open section: one heading has a name in it */
    char largest_heading[80];
};

void print_card(struct print *print, size_t card);
/* "T=256, B=48": all but the name at `without`, which may be VARY_NONE. */
void print_values(struct print *print, const struct vary_at *at, size_t without);
/* What an answer rests on most: the largest value that fits, or what does not; NULL: no try. */
const struct plan_try *print_try_of(const struct plan *plan, const struct plan_answer *answer);
/* Values that were read in it and not computed. NULL: none. */
int64_t print_unknown(const struct plan_try *it);
/* The section of the answers. 0 or an error. */
int print_answers(struct print *print);
/* The section of the tries. 0 or an error. */
int print_tries(struct print *print);

#endif
