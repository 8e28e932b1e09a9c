/*
 * search.h - the place in a sorted row from which on a condition does not hold any more.
 */
#ifndef TIDEMARK_BASE_SEARCH_H
#define TIDEMARK_BASE_SEARCH_H

/*
 * Sets `at`, a variable, to the first number of [from, to) for which `below`, an expression of
 * `at`, does not hold, or to `to`. It must hold for none behind the first for which it does not.
 *
 *     size_t at;
 *     SEARCH_FIRST(at, 0, count, rows[at].seq < seq);
 */
#define SEARCH_FIRST(at, from, to, below)                                                          \
    do {                                                                                           \
        __typeof__(at) search_low_ = (from), search_high_ = (to);                                  \
        while (search_low_ < search_high_) {                                                       \
            (at) = search_low_ + (search_high_ - search_low_) / 2;                                 \
            if (below)                                                                             \
                search_low_ = (at) + 1;                                                            \
            else                                                                                   \
                search_high_ = (at);                                                               \
        }                                                                                          \
        (at) = search_low_;                                                                        \
    } while (0)

#endif
