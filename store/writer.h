/*
 * writer.h - the thread that owns the database: takes batches from the queue, writes them, commits
 * at least once a second, checkpoints, and at the end makes one file of it.
 *
 * When a statement fails for good (disk full, file removed, I/O error) the transaction is rolled
 * back, what was committed stays readable, the reason is stored as meta.stopped if that can be
 * done, the queue is closed, and writer_failed() turns true: the drain then closes the rings and
 * the program runs on, unrecorded. Before a full disk is taken for that, the log is moved into the
 * file to make room, and what was rolled back is written again, a batch at a time.
 */
#ifndef TIDEMARK_STORE_WRITER_H
#define TIDEMARK_STORE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"
#include "keeper.h"
#include "queue.h"

struct writer;

#define WRITER_MESSAGE_BYTES 640

struct writer_stats {
    uint64_t batches, commits, rows_inserted, rows_updated;
    uint64_t events, blocks; /* of what was committed */
    uint64_t cpu_ns;         /* of the thread */
    uint64_t longest_commit_ns;
    uint64_t behind_ns;  /* the most that a commit lagged behind the making of its batch */
    uint64_t most_bytes; /* of the file and its log, where things go (keeper.h); else 0 */
    bool shrunk;         /* the file was written anew at the end: it is another one (db_shrink) */
    enum db_cut cut;     /* what somebody cut short meanwhile, and the writer did not survive */
    char message[WRITER_MESSAGE_BYTES]; /* why it failed, "" if it did not */
    size_t reason_bytes;                /* of the message: the reason alone, with which it begins */
};

/* Takes the database over (writer_finish closes it), unless it fails, and the keeper in any case.
 * The thread starts at once. */
int writer_start(struct writer **out, struct db *db, struct queue *queue, bool private,
                 const struct keeper *keeper); /* NULL: all is kept */
bool writer_failed(const struct writer *writer);
const char *writer_message(const struct writer *writer); /* why; "" if it did not (yet) */
/* The figures as of the last commit, from any thread. */
void writer_look(struct writer *writer, struct writer_stats *stats);
/* Call after queue_close: joins the thread, writes the last commit, makes one file, frees. Sets
 * *single_file to false if a reader held it (the log stays beside it, nothing is lost). */
int writer_finish(struct writer *writer, bool *single_file, struct writer_stats *stats);

/* Without the thread, for tests and benchmarks: one batch into an open transaction. */
struct writer_sink;
int writer_sink_new(struct writer_sink **out, struct db *db);
int writer_sink_write(struct writer_sink *sink, const struct batch *batch);
void writer_sink_free(struct writer_sink *sink);

#endif
