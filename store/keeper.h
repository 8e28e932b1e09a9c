/*
 * keeper.h - who decides what of the written rows is dropped again on purpose, as the writer sees
 * it: a set of functions. The writer stands below those who know which rows are worth keeping.
 *
 * All zero keeps everything. Otherwise every function is set; all are called by the writer's
 * thread, and `forget` is called once, as the last.
 */
#ifndef TIDEMARK_STORE_KEEPER_H
#define TIDEMARK_STORE_KEEPER_H

#include <stdbool.h>
#include <stdint.h>

struct batch;

struct keeper {
    void *self;
    /* After the batch was written. */
    void (*see)(void *self, const struct batch *batch);
    /* In a transaction; looks at about `rows` rows. Errors are the database's, or ERR_LIMIT. */
    int (*work)(void *self, int64_t rows);
    /* What is due may go later: so many bytes that wait to be written come first. */
    bool (*can_wait)(const void *self, uint64_t bytes);
    /* At the end, when nothing is to come: more is to go; the file is to be written anew. */
    bool (*is_behind)(const void *self);
    bool (*is_hollow)(void *self);
    void (*rolled_back)(void *self);
    /* Bytes that the log may hold before it is moved; the most that file and log ever were. */
    uint64_t (*log_bytes)(const void *self, uint64_t usual);
    uint64_t (*most_bytes)(const void *self);
    void (*forget)(void *self);
};

#endif
