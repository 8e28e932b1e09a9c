/*
 * world.h - a heap state, and a database that takes its rows: what drivers of the recorder's inside
 * feed. The database is made once; each input has one transaction in it, which is rolled back.
 */
#ifndef TIDEMARK_TESTS_FUZZ_WORLD_H
#define TIDEMARK_TESTS_FUZZ_WORLD_H

#include "db.h"
#include "retention.h"
#include "state.h"
#include "writer.h"

#define WORLD_START 1000000000ull /* CLOCK_MONOTONIC of the run's 0 */

struct world {
    struct state *state;
    bool stores;                 /* rows go into the database, too */
    struct retention *retention; /* NULL: all is kept */
};

void world_begin(struct world *world, const struct state_options *options, bool stores);
/* From now on what `options` do not keep goes from the database. It must store. */
void world_retain(struct world *world, const struct retention_options *options);
struct state_process *world_process(struct world *world, int64_t pid, uint64_t at_ns);
/* Every row can be written. */
void world_flush(struct world *world, uint64_t now_ns, bool commit);
/* Flushes; with `looks` every view is read to its end; then all is as it was. */
void world_end(struct world *world, uint64_t now_ns, bool looks);

#endif
