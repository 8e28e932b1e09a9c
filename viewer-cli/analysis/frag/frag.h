/*
 * frag.h - what the memory that a process had reserved on a device went to at an instant.
 *
 * Each segment, and each range of mapped pages, is a row of pieces: blocks that live, blocks that
 * were given back and wait for a stream, and holes. A block pins the holes beside it: when it dies,
 * they and it are one hole, and when it was the only one in its segment, the whole of that can go
 * back to the device.
 *
 * fragmentation = inactive split / reserved at this instant, where inactive split are the holes of
 * segments that also hold a block; and 1 - largest hole / free bytes. Holes in mapped pages are no
 * inactive split: they have a cause of their own.
 *
 * Waiting blocks are those that became idle later. One that was still waiting when the recording
 * ended left no trace, and counts as free.
 *
 * Invariants (frag_is_valid): the causes add up to what is reserved; each segment's live, waiting
 * and free bytes add up to its size; sizes and heaps add up to the segments; blocks of one segment
 * neither overlap nor leave it; segments come by address, pins by what their death gives, largest
 * first.
 */
#ifndef TIDEMARK_ANALYSIS_FRAG_H
#define TIDEMARK_ANALYSIS_FRAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "frag_area.h"
#include "group.h"
#include "instant.h"
#include "map.h"
#include "purpose.h"

#define FRAG_NONE GROUP_NONE

enum frag_cause {
    FRAG_REQUESTED, /* of living blocks: what the program asked for */
    FRAG_LIVE,      /* living blocks whose request is not known */
    FRAG_ROUNDING,  /* of living blocks: size - requested */
    FRAG_WAITING,   /* given back, but a stream still used it */
    FRAG_SPLIT,     /* holes of segments that also hold a block */
    FRAG_CACHED,    /* segments without any block */
    FRAG_PAGES,     /* holes in mapped pages */
    FRAG_REST,      /* what the source says is reserved, less the segments known; either sign */
    FRAG_CAUSES
};

struct frag_block {
    uint64_t address;
    int64_t size; /* within its segment, and less what another block has of it */
    int64_t requested, site, phase;
    int64_t seq;
    size_t segment;       /* place in segments */
    enum purpose purpose; /* of a living block */
    bool waiting;
    bool sole;             /* the only block of its segment */
    int64_t before, after; /* holes beside it */
    int64_t gives; /* if it dies: one hole of so many bytes, or its whole segment; 0 = pins none */
};

struct frag_segment {
    struct area area;
    int64_t live, waiting, free; /* bytes */
    int64_t blocks, waits;       /* living and waiting ones */
    int64_t holes, largest;
    size_t first, count; /* of its blocks, living and waiting */
};

struct frag_size { /* segments of one size, or all ranges of mapped pages */
    int64_t size;  /* FRAG_NONE: mapped pages */
    int64_t segments, empty;
    int64_t reserved, live, waiting, free;
    int64_t blocks, holes, largest;
    int64_t sole; /* segments with one living block and nothing else */
};

struct frag_heap { /* blocks of one stream and pool find room only in its own segments */
    int64_t heap, stream, pool;
    int64_t reserved, free, largest;
};

struct frag_site {
    int64_t site; /* FRAG_NONE */
    char *name, *shown;
    enum purpose purpose; /* of its largest block */
    int64_t biggest;
    int64_t blocks, bytes;
    int64_t returns; /* bytes of segments that hold nothing but blocks of this site, and holes */
    int64_t beside;  /* other holes that its blocks pin */
};

struct frag_pin {
    const struct frag_block *block;
    char *name, *shown; /* of its site; only of the first ones */
    char *phase;        /* its birth, with the phases around it */
    int64_t step;       /* of its birth, FRAG_NONE */
    bool between;       /* its birth was in no phase that the program named */
};

struct frag {
    bool known; /* false: segments are not known from this source; all below is empty */
    int64_t seq;
    int64_t step;     /* at the instant; FRAG_NONE */
    int64_t reserved; /* what the source says; otherwise the sum of the segments */
    int64_t causes[FRAG_CAUSES];
    int64_t free_bytes, largest; /* of all holes */
    int64_t strays, stray_bytes; /* living blocks, or parts, that are in no segment */
    struct frag_segment *segments;
    size_t segment_count;
    struct frag_block *blocks; /* by address */
    size_t block_count, block_cap;
    struct frag_size *sizes; /* most free bytes first */
    size_t size_count, size_cap;
    struct frag_heap *heaps;
    size_t heap_count, heap_cap;
    struct frag_site *sites; /* those that pin something, most first */
    size_t site_count, site_cap;
    struct frag_pin *pins;
    size_t pin_count;
    struct map index; /* site to place, while they are collected */
};

/* instant->reserved is what the source said of that moment: where it did not, the segments' sum.
 * The first `named` pins and sites get their names. 0 or an error; frag_clear in both cases. */
int frag_read(struct db *db, int64_t process, int64_t device, const struct instant *instant,
              size_t named, struct frag *out);
/* The same for people: those of the first `most` that are alike are told apart. 0 or an error. */
int frag_tell_apart(struct db *db, struct frag *frag, size_t most);
void frag_clear(struct frag *frag);
bool frag_is_valid(const struct frag *frag);

const char *frag_cause_text(enum frag_cause cause);
double frag_split_share(const struct frag *frag); /* inactive split / reserved */
double frag_scattered(const struct frag *frag);   /* 1 - largest hole / free bytes */

/* Segments in the order in which people look at them: places, most bytes in holes beside blocks
 * first, or largest first. NULL without memory; to be freed. */
size_t *frag_order(const struct frag *frag, bool by_size);

#endif
