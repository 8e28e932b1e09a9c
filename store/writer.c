/*
 * writer.c - the writer thread.
 *
 * A transaction begins with the first batch that comes and ends when a batch asks for it, when it
 * has many rows, or one second after it began, whichever is first; an idle queue is no reason to
 * leave it open. After a writer_commit, when the log has grown beyond LOG_BYTES, the thread itself
 * moves it into the file, without waiting for readers: a reader can delay that, and the log grows
 * meanwhile, but neither waits for the other.
 *
 * The batches of the open transaction are kept until it is committed. If the disk is full by then,
 * they are written once more after the log has been emptied, and from then on each batch is
 * committed and moved by itself: the log is as short as it can be.
 */
#include "writer.h"

#include <assert.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "error.h"
#include "mem.h"
#include "writer_parts.h"

#define COMMIT_NS NS_PER_S
#define IDLE_MS 1000
#define FINISH_NS (2 * NS_PER_S)

bool writer_failed(const struct writer *writer)
{
    return atomic_load_explicit(&writer->failed, memory_order_acquire);
}

const char *writer_message(const struct writer *writer)
{
    return writer_failed(writer) ? writer->message : "";
}

/* How long to wait for the next batch; 0 = the open transaction is due. */
static unsigned wait_ms(const struct writer *writer)
{
    if (!db_in_transaction(writer->db))
        return IDLE_MS;
    uint64_t age = clock_now_ns() - writer->began_ns;
    return age >= COMMIT_NS ? 0 : (unsigned)((COMMIT_NS - age) / NS_PER_MS) + 1;
}

static void *run(void *context)
{
    struct writer *writer = context;
    bool closed = false;
    int err = 0;
    while (err == 0) {
        unsigned wait = wait_ms(writer);
        if (wait == 0) {
            err = writer_write_again(writer, writer_commit(writer));
            continue;
        }
        struct batch *batch = queue_pop(writer->queue, wait, &closed);
        if (!batch && closed)
            break;
        if (!batch)
            continue;
        err = writer_write_again(writer, writer_write(writer, batch));
    }
    if (err == 0 && db_in_transaction(writer->db))
        err = writer_write_again(writer, writer_commit(writer));
    if (err == 0)
        err = writer_write_again(writer, writer_catch_up(writer));
    if (err < 0)
        writer_fail(writer, err);
    writer->stats.cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

/* Signals are for the threads that expect them. */
static int start_thread(struct writer *writer)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* not sent: ours, and mended (schema/db_bus.c) */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&writer->thread, NULL, run, writer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return base_err_from_errno(failed);
}

static void forget_keeper(struct writer *writer)
{
    if (!writer_keeps_all(writer))
        writer->keeper.forget(writer->keeper.self);
    writer->keeper = (struct keeper){0};
}

int writer_start(struct writer **out, struct db *db, struct queue *queue, bool private,
                 const struct keeper *keeper)
{
    static const struct keeper nobody;
    if (!keeper)
        keeper = &nobody;
    *out = NULL;
    struct writer *writer = mem_alloc(1, sizeof *writer);
    if (!writer) {
        if (keeper->self)
            keeper->forget(keeper->self);
        return ERR_NOMEM;
    }
    writer->keeper = *keeper;
    writer->db = db;
    writer->queue = queue;
    writer->private = private;
    writer->open_last = &writer->open;
    pthread_mutex_init(&writer->lock, NULL);
    int err = writer_sink_new(&writer->sink, db);
    if (err == 0) {
        writer_sink_tick(writer->sink, queue);
        err = start_thread(writer);
    }
    if (err < 0) {
        forget_keeper(writer);
        writer_sink_free(writer->sink);
        mem_free(writer);
        return err;
    }
    *out = writer;
    return 0;
}

/* A reader that holds the file is given two seconds, any other trouble one more try; then its log
 * stays beside it. */
static bool make_single_file(struct db *db)
{
    uint64_t until = clock_now_ns() + FINISH_NS;
    const struct timespec pause = {.tv_nsec = 20 * (long)NS_PER_MS};
    for (bool again = true;;) {
        int err = db_single_file(db);
        if (err == 0)
            return true;
        if ((err != ERR_BUSY && !again) || clock_now_ns() >= until)
            break;
        again = err == ERR_BUSY && again;
        nanosleep(&pause, NULL);
    }
    db_checkpoint(db, false);
    return false;
}

int writer_finish(struct writer *writer, bool *single_file, struct writer_stats *stats)
{
    atomic_store_explicit(&writer->finishing, true, memory_order_relaxed);
    pthread_join(writer->thread, NULL);
    if (writer->error == 0 && writer_is_cut(db_cut(writer->db)))
        writer_fail(writer, ERR_CORRUPT);
    const struct writer_rows *rows = writer_sink_rows(writer->sink);
    writer->stats.rows_inserted = rows->inserted;
    writer->stats.rows_updated = rows->updated;
    const struct keeper *keeper = &writer->keeper;
    bool hollow = false;
    if (!writer_keeps_all(writer)) {
        writer->stats.most_bytes = keeper->most_bytes(keeper->self);
        hollow = writer->error == 0 && keeper->is_hollow(keeper->self);
    }
    forget_keeper(writer);
    writer_sink_free(writer->sink);
    *single_file = writer->stats.cut != DB_CUT_FILE && make_single_file(writer->db);
    if (*single_file && hollow)
        writer->stats.shrunk = db_shrink(writer->db) == 0; /* or it stays as it is */
    if (stats) {
        *stats = writer->stats;
        memcpy(stats->message, writer->message, sizeof stats->message);
    }
    int err = writer->error;
    *single_file &= db_close_single(writer->db);
    mem_free(writer);
    return err;
}
