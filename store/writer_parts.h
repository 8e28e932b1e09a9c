/*
 * writer_parts.h - what the files behind writer.h share. All of it is called by the writer's
 * thread, or after that has ended.
 */
#ifndef TIDEMARK_STORE_WRITER_PARTS_H
#define TIDEMARK_STORE_WRITER_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "writer.h"
#include "writer_sink.h"

/* Belongs to the thread between writer_start and writer_finish, but for `failed` and `message`:
 * message is written before failed is set, and not changed after it. */
struct writer {
    struct db *db;
    struct queue *queue;
    struct writer_sink *sink;
    struct keeper keeper; /* of what is not to stay */
    pthread_t thread;
    atomic_bool failed;
    atomic_bool finishing;
    int error; /* the one that made it fail */
    char message[WRITER_MESSAGE_BYTES];
    uint64_t began_ns;       /* of the open transaction */
    uint64_t oldest_made_ns; /* of the batches in it */
    uint64_t trimmed_ns;
    struct writer_rows committed;
    struct { /* when the log was moved last, all of it: what stands in the file itself */
        struct writer_rows rows;
        uint64_t events, blocks;
    } moved;
    struct batch *open, **open_last; /* of the open transaction, oldest first */
    bool tight;                      /* the disk was full once */
    bool private;                    /* as the batches are */
    struct writer_stats stats;
    pthread_mutex_t lock; /* of `seen` */
    struct writer_stats seen;
};

static inline bool writer_keeps_all(const struct writer *writer)
{
    return writer->keeper.self == NULL;
}

/* With a loss: what an index had is made anew. */
static inline bool writer_is_cut(enum db_cut cut)
{
    return cut == DB_CUT_FILE || cut == DB_CUT_LOG;
}

/* writer_commit.c. Errors are base_err. */
uint64_t writer_rows_committed(const struct writer *writer);
/* Keeps the batch in any case. */
int writer_write(struct writer *writer, struct batch *batch);
int writer_commit(struct writer *writer);
/* After the transaction failed with `err`. Returns 0 if all of it is stored after all. */
int writer_write_again(struct writer *writer, int err);
/* What --keep does not keep goes before the end, however little of it went while batches waited. */
int writer_catch_up(struct writer *writer);
void writer_roll_back(struct writer *writer);
/* Frees the batches of the open transaction. */
void writer_drop_kept(struct writer *writer);

/* writer_fail.c. The queue is closed after `failed` is set: whoever finds it closed asks for the
 * reason at once. What moves the log and stores the reason may wait for a full disk, and comes
 * last. */
void writer_fail(struct writer *writer, int err);

#endif
