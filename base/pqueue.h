/*
 * pqueue.h - an array as a heap: the least item is the first.
 *
 * Invariant: no item is before the one at (its place - 1) / 2. `is_before(a, b)` is a function of
 * two pointers to items, or a macro.
 */
#ifndef TIDEMARK_BASE_PQUEUE_H
#define TIDEMARK_BASE_PQUEUE_H

#include <stddef.h>

/* The item at `place` goes towards the front, as far as it has to: one that was put at the end. */
#define PQUEUE_RISE(items, place, is_before)                                                       \
    do {                                                                                           \
        size_t pqueue_at_ = (place);                                                               \
        __typeof__(*(items)) pqueue_item_ = (items)[pqueue_at_];                                   \
        while (pqueue_at_ && is_before(&pqueue_item_, &(items)[(pqueue_at_ - 1) / 2])) {           \
            (items)[pqueue_at_] = (items)[(pqueue_at_ - 1) / 2];                                   \
            pqueue_at_ = (pqueue_at_ - 1) / 2;                                                     \
        }                                                                                          \
        (items)[pqueue_at_] = pqueue_item_;                                                        \
    } while (0)

/* The item at `place`, of `count`, goes towards the end: the last one, put in the first one's
 * place. */
#define PQUEUE_SINK(items, place, count, is_before)                                                \
    do {                                                                                           \
        size_t pqueue_at_ = (place), pqueue_count_ = (count);                                      \
        __typeof__(*(items)) pqueue_item_ = (items)[pqueue_at_];                                   \
        for (size_t child_ = 2 * pqueue_at_ + 1; child_ < pqueue_count_;                           \
             child_ = 2 * pqueue_at_ + 1) {                                                        \
            if (child_ + 1 < pqueue_count_ && is_before(&(items)[child_ + 1], &(items)[child_]))   \
                child_++;                                                                          \
            if (!is_before(&(items)[child_], &pqueue_item_))                                       \
                break;                                                                             \
            (items)[pqueue_at_] = (items)[child_];                                                 \
            pqueue_at_ = child_;                                                                   \
        }                                                                                          \
        (items)[pqueue_at_] = pqueue_item_;                                                        \
    } while (0)

#endif
