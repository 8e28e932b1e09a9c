/*
 * levers_orders.h - blocks of a window in other orders than that of their births, so that a
 * question for the next or the last of a kind does not go through a whole forward or backward.
 *
 * Invariants (levers_orders_is_valid): `saved` has each block that lives as the next backward
 * behind its birth begins, by that backward, bytes and end; `made` and `alike` each block that a
 * backward made in a module, by module and birth, and by module, bytes and birth.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_ORDERS_H
#define TIDEMARK_ANALYSIS_LEVERS_ORDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "levers_step.h"

struct levers_saved {
    int64_t backward; /* the event with which it begins */
    int64_t asked, end;
    size_t block; /* its place */
};

struct levers_made {
    int64_t module, asked;
    size_t block;
};

struct levers_orders { /* all zero is empty */
    const struct levers_step *step;
    struct levers_saved *saved;
    struct levers_made *made, *alike;
    size_t saved_count, made_count; /* `alike` has as many as `made` */
};

/* The backward that comes next; NULL. */
const struct levers_phase *levers_backward_of(const struct levers_step *step,
                                              const struct levers_block *block);

/* 0 or an error; levers_orders_clear in both cases. */
int levers_orders_read(const struct levers_step *step, struct levers_orders *out);
void levers_orders_clear(struct levers_orders *orders);
bool levers_orders_is_valid(const struct levers_orders *orders);

/* Of what was saved for the same backward as this block and has as many bytes: the last that ends
 * before `seq`, and the first that ends behind it. NULL: there is none. */
const struct levers_block *levers_saved_before(const struct levers_orders *orders,
                                               const struct levers_block *block, int64_t seq);
const struct levers_block *levers_saved_behind(const struct levers_orders *orders,
                                               const struct levers_block *block, int64_t seq);

/* What backward makes in the module of this block, one after the other, with as many bytes, from
 * the event `from` on and before `to`. */
struct levers_alike {
    const struct levers_made *first;
    size_t count;
};
struct levers_alike levers_made_alike(const struct levers_orders *orders,
                                      const struct levers_block *block, int64_t from, int64_t to);
/* The same of any bytes. */
struct levers_alike levers_made_in(const struct levers_orders *orders, int64_t module, int64_t from,
                                   int64_t to);
/* The place behind the blocks of the same module that this one's birth is followed by at once. */
size_t levers_run_end(const struct levers_orders *orders, size_t made);

#endif
