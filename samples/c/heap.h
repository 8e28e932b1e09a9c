/*
 * heap.h - a caching allocator without memory: it hands out addresses on a virtual device and
 * reports every segment and every block through tidemark.h.
 *
 * Its rules are those of PyTorch's allocator at the end of 2018 (versions 0.4 and 1.0, which
 * printed the figures that README.md compares with):
 *   - A request is rounded up to 512 bytes below 1 MiB, to 128 KiB from there on.
 *   - Small blocks (up to 1 MiB) and large ones have separate free lists. The smallest free block
 *     that is large enough is taken, of equal ones that with the lowest address.
 *   - If there is none, a new segment is taken from the device: 1 MiB for a small request, the
 *     rounded size for a large one.
 *   - Where that would pass the limit, all segments without a living block go back first. If it
 *     still would, the request is refused, and the program ends.
 *   - What a block has too much is split off, if it is at least 512 bytes in a small block or more
 *     than 1 MiB in a large one. Otherwise it stays with the block: unsplit, and counted in
 *     `allocated`.
 *   - A freed block is merged with its free neighbours in the segment.
 */
#ifndef SEQ2SEQ_HEAP_H
#define SEQ2SEQ_HEAP_H

#include "tidemark.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A piece of a segment. Of two free neighbours there is always one made. */
struct block {
    uint64_t address;
    uint64_t bytes;
    uint64_t requested; /* living: heap_round(requested) <= bytes */
    bool living;
    struct block *before; /* the neighbours in the segment, or NULL */
    struct block *after;
};

/* Free blocks, sorted by size, then by address. */
struct free_list {
    struct block **blocks;
    size_t count, room;
};

/*
 * The blocks of a segment, chained from its first one, cover it without gap or overlap.
 * allocated = the bytes of all living blocks = what was rounded of the requests + unsplit;
 * reserved = the bytes of all segments; max_* = the highest value that each ever had.
 */
struct heap {
    tidemark_heap_t report;
    struct free_list small, large;
    struct block **segments; /* the first block of each */
    size_t segment_count, segment_room;
    uint64_t next_address;
    uint64_t limit; /* of reserved; 0 = none */
    uint64_t living;
    uint64_t allocated, max_allocated;
    uint64_t reserved, max_reserved;
    uint64_t unsplit;
};

void heap_open(struct heap *heap, const char *name);
/* Before the first block. */
void heap_limit(struct heap *heap, uint64_t bytes);
void heap_close(struct heap *heap);
/* Walks everything: for tests. */
bool heap_is_valid(const struct heap *heap);

uint64_t heap_round(uint64_t requested);
/* Refused, it says so in the words of PyTorch and ends the program with 1. */
struct block *heap_allocate(struct heap *heap, uint64_t requested, tidemark_site_t site);
void heap_free(struct heap *heap, struct block *block);
const void *heap_address(const struct block *block);

/* The sample's own memory: calloc, or the end of the program. */
void *host_memory(size_t count, size_t size);
/* Room for one more pointer in an array of pointers that grows by doubling. */
void *host_room(void *array, size_t count, size_t *room);

#endif
