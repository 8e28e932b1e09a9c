/*
 * frag_area.h - the memory that an allocator had taken from the driver at an instant: segments, and
 * ranges of addresses with pages mapped into them.
 *
 * Pages that touch and belong to one heap are one area, so that a segment that grew page by page
 * counts once.
 *
 * Invariants (areas_is_valid): areas come by address; none is empty; those of pages neither meet
 * nor, of one heap, touch each other.
 */
#ifndef TIDEMARK_ANALYSIS_FRAG_AREA_H
#define TIDEMARK_ANALYSIS_FRAG_AREA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"

struct area {
    uint64_t address;
    int64_t size;
    int64_t heap; /* heap.id */
    int64_t seq;  /* of the segment; of pages: when the first of them were mapped */
    bool mapped;
};

struct areas { /* all zero is empty */
    struct area *areas;
    size_t count, cap;
    bool known; /* the source told of segments or pages at some time */
};

/* What was there after the event `seq`. 0 or an error; areas_clear in both cases. */
int areas_read(struct db *db, int64_t process, int64_t device, int64_t seq, struct areas *out);
void areas_clear(struct areas *areas);
bool areas_is_valid(const struct areas *areas);

/* The parts of a set of pages, in the order in which they happened. False without memory. */
bool areas_map(struct areas *pages, const struct area *part);
bool areas_unmap(struct areas *pages, const struct area *part);

static inline uint64_t area_end(const struct area *area)
{
    return area->address + (uint64_t)area->size;
}

#endif
