/*
 * extent.h - what lies at an address that CUDA handed out: a piece of a device, pinned memory of
 * the host, or reserved addresses with nothing behind them. A program asks by any address inside.
 *
 * Invariant: sorted by base, no two overlap, none is empty.
 */
#ifndef TIDEMARK_REHEARSAL_EXTENT_H
#define TIDEMARK_REHEARSAL_EXTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum extent_kind {
    EXTENT_DEVICE = 1, /* cudaMalloc and what is like it */
    EXTENT_MAPPED,     /* pages of physical memory, mapped into a reserved range */
    EXTENT_MANAGED,    /* unified memory */
    EXTENT_PINNED,     /* the host's, made by CUDA */
    EXTENT_REGISTERED  /* the host's, made by the program */
};

struct extent {
    uint64_t base, bytes;
    int32_t device; /* that it lies on, or that was current when it was made */
    enum extent_kind kind;
    void *of; /* EXTENT_MAPPED: the physical memory; else what its maker keeps */
};

struct extents {
    struct extent *list;
    size_t count, cap;
};

/* False: no memory, empty, or it overlaps another one. */
bool extents_add(struct extents *extents, const struct extent *extent);
/* The one that holds this address. NULL: none. Valid until the next change. */
const struct extent *extents_at(const struct extents *extents, uint64_t address);
/* What its maker keeps, of the one that begins there. False: none does. */
bool extents_keep(struct extents *extents, uint64_t base, void *of);
/* Takes the one that begins at this address out. False: none begins there. */
bool extents_remove(struct extents *extents, uint64_t base, struct extent *removed);
void extents_clear(struct extents *extents);
bool extents_are_valid(const struct extents *extents);

#endif
