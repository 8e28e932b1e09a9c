/*
 * rows.h - rows of elements that are sorted: fetched and brought back in one piece where they lie
 * side by side, and the order in which they come to stand.
 */
#ifndef TIDEMARK_REHEARSAL_ROWS_H
#define TIDEMARK_REHEARSAL_ROWS_H

#include <stdbool.h>
#include <stdint.h>

/* Elements of `width` bytes, the next one `stride` elements further on. */
struct row {
    uint64_t at, stride, count;
    uint32_t width;
};

/* False: not all of them are known. */
bool row_fetch(const struct row *row, uint8_t *bytes);
void row_put(const struct row *row, const uint8_t *bytes);
void row_forget(const struct row *row);

/* Where whole numbers are sorted, with what belongs to each. `order[i]`: which one comes to stand
 * at place i. */
struct row_sort {
    uint64_t *keys; /* compared unsigned */
    uint32_t *order, *room;
    uint8_t *numbers, *values, *sorted;
};

/* For rows of up to so many. False: no memory. */
bool row_sort_begin(struct row_sort *sort, uint64_t count);
void row_sort_end(struct row_sort *sort);
/* `values` of no width: there are none. False: not all of them are known. */
bool row_sort_fetch(struct row_sort *sort, const struct row *numbers, const struct row *values);
/* Keys of the numbers as they are, all of this type. */
void row_sort_keys(struct row_sort *sort, char type, uint64_t count, bool falls);
/* By the keys; equal ones stay as they stand. */
void row_sort_order(struct row_sort *sort, uint64_t count);
/* In their order to these places, as many and as wide as those that were fetched. */
void row_sort_put(struct row_sort *sort, const struct row *numbers, const struct row *values);

#endif
