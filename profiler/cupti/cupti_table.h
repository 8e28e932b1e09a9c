/*
 * cupti_table.h - what the driver has given out and not got back, as far as we have seen.
 *
 * A hash table with linear probing in memory of our own (mmap), not locked: cupti_live.c has the
 * lock. It is there for what an event needs that its call does not say: what a free frees, whose
 * mapping is the last one, what goes with a context.
 *
 * Invariants: `used` entries have a space; at most three quarters of the slots are used; between
 * the slot where an entry's hash points and the entry no slot is free; no two entries have one key.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_TABLE_H
#define TIDEMARK_PROFILER_CUPTI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a key is. One number may be an address and a handle. */
enum live_space {
    SPACE_ADDRESS = 0,
    SPACE_HANDLE,  /* of physical memory */
    SPACE_MAPPING, /* the address at which a handle is mapped */
    SPACE_ARRAY,
    SPACE_POOL,
    SPACE_EXTERNAL, /* imported from another interface */
    SPACE_COUNT
};

struct live_entry {
    uint64_t key;
    uint64_t bytes;
    uint64_t of; /* a mapping: the handle; stream-ordered: the stream; a node of a graph: the graph,
                    until that was instantiated */
    uint64_t context; /* with which it goes; 0 = with none */
    uint32_t serial;  /* tells two that had the same key one after the other; never 0 */
    uint32_t of_serial;
    uint32_t leaving; /* number of the call under way that gives it back; 0 = none */
    uint32_t refs;    /* a handle: references, */
    uint32_t mapped;  /* and mappings */
    uint32_t heap, name, site, library; /* as they were sent */
    uint8_t space;                      /* enum live_space */
    uint8_t memory;                     /* enum driver_memory */
    uint8_t used;
};

struct live_table {
    struct live_entry *slots; /* NULL: empty */
    size_t capacity;          /* a power of two, or 0 */
    size_t used;
    size_t of_space[SPACE_COUNT]; /* how many of each; together they are `used` */
    uint32_t serial;              /* the last that was given */
    uint64_t changes;             /* of where entries stand: an index is of one number */
};

/* Valid until the table is changed; NULL. */
struct live_entry *live_table_find(const struct live_table *table, enum live_space space,
                                   uint64_t key);
/* A new entry in the place of an older one of this key, with a new serial; NULL without memory. */
struct live_entry *live_table_put(struct live_table *table, const struct live_entry *entry);
void live_table_remove(struct live_table *table, struct live_entry *entry);
/* Where a walk through the slots goes on that has been away from the table for a while: at `at`, if
 * nothing has moved since `changes` were counted; else from the beginning. */
size_t live_table_resume(const struct live_table *table, size_t at, uint64_t changes);
/* Gives the memory back. */
void live_table_clear(struct live_table *table);
bool live_table_is_valid(const struct live_table *table);

#endif
