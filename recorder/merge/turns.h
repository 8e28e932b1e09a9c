/*
 * turns.h - one order of all events, and the new number of each.
 *
 * The events of an input come from its spool, by seq, each with its time. The input whose next
 * event is the earliest in the merged run goes on; so the order of one input is kept, and between
 * inputs it is that of time. Numbers of an input that no event is known of (an interval's, say)
 * stay in front of the event behind them.
 *
 * As long as one input goes on its new numbers are the old ones and a constant; where another takes
 * over a turn begins. The turns of an input are pairs of an old and a new number, both growing,
 * kept as differences in the spool; of every TURNS_PAGE of them the first stands in memory.
 *
 * Invariants (turns_is_valid): new numbers of all inputs are disjoint, and each input's grow with
 * the old ones.
 */
#ifndef TIDEMARK_MERGE_TURNS_H
#define TIDEMARK_MERGE_TURNS_H

#include "clock.h"
#include "spool.h"

#define TURNS_PAGE 512u
#define TURNS_PAGES 4u /* that are kept of an input */

struct turn {
    int64_t old, now;
};

struct turns_mark { /* the first turn of a page */
    struct turn turn;
    uint64_t place; /* in the spool, of the next one */
};

struct turns_page {
    size_t number;
    uint32_t count, used; /* turns; when it was asked last */
    struct turn turns[TURNS_PAGE];
};

struct turns_map { /* of an input; all zero is an empty one */
    struct spool_stream turns;
    struct turns_mark *marks;
    size_t mark_count, mark_cap;
    uint64_t turn_count;
    struct turn last;
    int64_t most; /* the largest old number that has a new one */
    struct turns_page *pages[TURNS_PAGES];
    uint32_t asked;
    struct spool_reader reader;
};

struct turns_input {
    const struct clock_side *side;
    struct spool_stream *events; /* differences of seq and of ns */
    int64_t last_seq;            /* no number of it is larger */
    struct turns_map *map;
};

/* *events: how many numbers were given. */
int turns_make(struct spool *spool, struct turns_input *inputs, size_t count, uint64_t *events);
/* The new number of an old one; what is below 1 stays, and what is beyond the last one is that. */
int turns_find(struct turns_map *map, const struct spool *spool, int64_t old, int64_t *now);
void turns_clear(struct turns_map *map);

#endif
