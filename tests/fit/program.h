/*
 * program.h - a program made of random numbers, run on the allocator itself and recorded as the
 * recorder would have done it: what a replay of it is compared with.
 *
 * The device gives segments in an order that no rule would guess, and uses addresses again. Events
 * of its streams are reached some calls later.
 */
#ifndef TIDEMARK_TESTS_FIT_PROGRAM_H
#define TIDEMARK_TESTS_FIT_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "alloc.h"
#include "db.h"

struct program {
    uint64_t seed;
    int calls;        /* of malloc and free */
    int living;       /* about so many blocks live at once */
    int streams;      /* up to 4 */
    uint64_t largest; /* request */
    uint64_t limit;   /* 0 = none */
    uint64_t memory;  /* of the device; 0 = 24 GiB, and never full */
    const char *conf; /* NULL = default */
    bool waits;       /* blocks are used on other streams */
    int empties;      /* the cache is emptied each so many calls; 0 = never */
    bool no_requests; /* the record has sizes of blocks only */
    bool ascending;   /* the device gives addresses as a replay without any would */
    int rebuilt;      /* so many calls were before the record: the state is all that is known */
};

struct program_result {
    struct alloc_stats stats;
    int64_t allocations; /* in the record */
    int64_t refused;
};

/* Process 1 on device 1, cuda:0, in a new database of that name. */
struct db *program_record(const char *name, const struct program *program,
                          struct program_result *result);
/* An empty database with process 1 on device 1 of that kind, and heap 1. */
struct db *program_database(const char *name, const char *kind);

#endif
