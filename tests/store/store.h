/*
 * store.h - batches and writers for the tests of the way to the file.
 */
#ifndef TIDEMARK_TESTS_STORE_H
#define TIDEMARK_TESTS_STORE_H

#include "batch.h"
#include "db.h"
#include "queue.h"
#include "writer.h"

#define STORE_LIMIT ((size_t)64 << 20)

/* `count` short-lived blocks with seq first, first + 1, ... and sizes 512 + seq. */
struct batch *store_batch(int64_t first, int64_t count, bool commit);
/* An open database at `path`, its queue and its writer. */
struct writer *store_start(const char *path, struct queue **queue);
/* Waits until a new reader of `path` gets at least `want` from `sql`; fails after ten seconds. */
void store_wait(const char *path, const char *sql, int64_t want);
/* The seqs stored are 1..n without a gap, with the sizes of store_batch. Returns n. */
int64_t store_check_prefix(struct db *db);

#endif
