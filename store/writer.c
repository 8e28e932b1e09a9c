/*
 * writer.c - the writer thread.
 *
 * A transaction begins with the first batch that comes and ends when a batch asks for it, when it
 * has many rows, or one second after it began, whichever is first; an idle queue is no reason to
 * leave it open. After a commit, when the log has grown beyond LOG_BYTES, the thread itself moves
 * it into the file, without waiting for readers: a reader can delay that, and the log grows
 * meanwhile, but neither waits for the other.
 *
 * The batches of the open transaction are kept until it is committed. If the disk is full by then,
 * they are written once more after the log has been emptied, and from then on each batch is
 * committed and moved by itself: the log is as short as it can be.
 */
#include "writer.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "error.h"
#include "mem.h"
#include "private.h"
#include "writer_sink.h"

#define COMMIT_NS NS_PER_S
/* A commit writes what it has in memory at one go, and the queue stands still meanwhile: so not
 * after more rows than this, some three megabytes. */
#ifndef COMMIT_ROWS /* tests/inject has a smaller recorder */
#define COMMIT_ROWS 50000u
#endif
/* Moving the log writes each page that changed once more: rarely enough for that not to matter, and
 * so little at a time that it does not hold up the queue for long. */
#define LOG_BYTES (4u << 20)
#define IDLE_MS 1000
#define DROP_ROWS 10000
#define BEHIND_BYTES (8u << 20) /* of batches that wait */
#define TRIM_NS (10 * NS_PER_S)
#define FINISH_NS (2 * NS_PER_S)
/* Somebody who holds the write lock is waited for while the run goes on; at its end not for long.
 */
#define BUSY_TRIES_AT_END 2

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
    bool hide_paths;
    struct writer_stats stats;
    pthread_mutex_t lock; /* of `seen` */
    struct writer_stats seen;
};

bool writer_failed(const struct writer *writer)
{
    return atomic_load_explicit(&writer->failed, memory_order_acquire);
}

const char *writer_message(const struct writer *writer)
{
    return writer_failed(writer) ? writer->message : "";
}

static uint64_t rows_written(const struct writer *writer)
{
    const struct writer_rows *rows = writer_sink_rows(writer->sink);
    return rows->inserted + rows->updated;
}

static uint64_t rows_committed(const struct writer *writer)
{
    return writer->committed.inserted + writer->committed.updated;
}

/* ---- batches of the open transaction ---- */

static void keep(struct writer *writer, struct batch *batch)
{
    batch->next = NULL;
    *writer->open_last = batch;
    writer->open_last = &batch->next;
}

static struct batch *take_kept(struct writer *writer)
{
    struct batch *first = writer->open;
    writer->open = NULL;
    writer->open_last = &writer->open;
    return first;
}

static void free_list(struct batch *batch)
{
    while (batch) {
        struct batch *next = batch->next;
        batch_free(batch);
        batch = next;
    }
}

static bool keeps_all(const struct writer *writer)
{
    return writer->keeper.self == NULL;
}

static void roll_back(struct writer *writer)
{
    db_rollback(writer->db);
    if (!keeps_all(writer))
        writer->keeper.rolled_back(writer->keeper.self);
    writer_sink_back_to(writer->sink, &writer->committed);
}

/* ---- failing ---- */

/* A row of some bytes, into a log that is empty again if that was possible. */
static void store_reason(struct writer *writer)
{
    size_t bytes = writer->stats.reason_bytes;
    struct db_stmt *stmt = NULL;
    if (db_begin(writer->db) != 0)
        return;
    int err = db_prepare_known(writer->db, &stmt, SCH_META);
    if (err == 0) {
        char reason[WRITER_MESSAGE_BYTES];
        memcpy(reason, writer->message, bytes);
        if (writer->hide_paths)
            bytes = private_shorten(reason, bytes);
        db_bind_text(stmt, SCH_AT(meta, key), "stopped", -1);
        db_bind_text(stmt, SCH_AT(meta, value), reason, (int)bytes);
        err = db_run(stmt);
    }
    db_finalize(stmt);
    if (err == 0)
        err = db_commit(writer->db);
    if (err < 0)
        db_rollback(writer->db);
}

/* With a loss: what an index had is made anew. */
static bool is_cut(enum db_cut cut)
{
    return cut == DB_CUT_FILE || cut == DB_CUT_LOG;
}

/* What was stored last is lost with a log that was cut short. */
static void go_back_to_moved(struct writer *writer)
{
    writer_sink_back_to(writer->sink, &writer->moved.rows);
    writer->committed = writer->moved.rows;
    writer->stats.events = writer->moved.events;
    writer->stats.blocks = writer->moved.blocks;
}

static void say_why(struct writer *writer, int err)
{
    const char *why =
        err == ERR_LIMIT ? "what has to be kept is as large as --max-size" : db_message(writer->db);
    writer->stats.reason_bytes = strnlen(why, sizeof writer->message - 1);
    if (writer->stats.cut == DB_CUT_FILE)
        snprintf(writer->message, sizeof writer->message,
                 "%s: recording stopped; what is left of it can be read by tidemark repair", why);
    else
        snprintf(writer->message, sizeof writer->message,
                 "%s: recording stopped after %llu rows; what was stored before can be read", why,
                 (unsigned long long)rows_committed(writer));
}

/* The queue is closed after `failed` is set: whoever finds it closed asks for the reason at once.
 * What moves the log and stores the reason may wait for a full disk, and comes last. */
static void fail(struct writer *writer, int err)
{
    enum db_cut cut = db_cut(writer->db);
    writer->stats.cut = cut;
    if (cut == DB_CUT_FILE)
        writer->moved.events = writer->moved.blocks = 0;
    if (is_cut(cut))
        go_back_to_moved(writer);
    say_why(writer, err);
    writer->error = err;
    roll_back(writer);
    free_list(take_kept(writer));
    atomic_store_explicit(&writer->failed, true, memory_order_release);
    queue_close(writer->queue);
    if (cut == DB_CUT_FILE)
        return;
    db_salvage_log(writer->db);
    db_checkpoint(writer->db, false);
    store_reason(writer);
}

/* Readers never block this; another writer does (somebody with a shell). */
static int begin(struct writer *writer)
{
    int tries_at_end = 0, err;
    do {
        err = db_begin(writer->db);
        if (atomic_load_explicit(&writer->finishing, memory_order_relaxed))
            tries_at_end++;
    } while (err == ERR_BUSY && tries_at_end < BUSY_TRIES_AT_END);
    writer->began_ns = clock_now_ns();
    writer->oldest_made_ns = UINT64_MAX;
    return err;
}

static int move_log(struct writer *writer)
{
    const struct keeper *keeper = &writer->keeper;
    uint64_t bound = keeps_all(writer) ? LOG_BYTES : keeper->log_bytes(keeper->self, LOG_BYTES);
    if (writer->tight)
        bound = 0;
    if (db_log_bytes(writer->db) <= bound)
        return 0;
    int err = db_checkpoint(writer->db, false);
    if (err == 0 && db_log_bytes(writer->db) == 0) {
        writer->moved.rows = writer->committed;
        writer->moved.events = writer->stats.events;
        writer->moved.blocks = writer->stats.blocks;
    }
    return err == ERR_BUSY ? 0 : err; /* somebody else is moving it */
}

static void show(struct writer *writer)
{
    const struct writer_rows *rows = writer_sink_rows(writer->sink);
    pthread_mutex_lock(&writer->lock);
    writer->seen = writer->stats;
    writer->seen.cpu_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID);
    writer->seen.rows_inserted = rows->inserted;
    writer->seen.rows_updated = rows->updated;
    pthread_mutex_unlock(&writer->lock);
}

void writer_look(struct writer *writer, struct writer_stats *stats)
{
    pthread_mutex_lock(&writer->lock);
    *stats = writer->seen;
    pthread_mutex_unlock(&writer->lock);
}

/* ---- transactions ---- */

static void count_committed(struct writer *writer)
{
    struct batch *list = take_kept(writer);
    for (const struct batch *batch = list; batch; batch = batch->next) {
        writer->stats.events += batch->event_count;
        writer->stats.blocks += batch->alloc_count;
    }
    free_list(list);
    writer->committed = *writer_sink_rows(writer->sink);
}

/* A batch grows to megabytes in one thread and is freed in another: malloc would keep as much as
 * there ever was at once. */
static void give_memory_back(struct writer *writer, uint64_t now_ns)
{
    if (now_ns - writer->trimmed_ns < TRIM_NS)
        return;
    writer->trimmed_ns = now_ns;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

/* What goes is looked through some times as fast as it came: a limit is caught up with. But what
 * waits to be written comes first while the limit is far: it could be lost, and what should have
 * gone can go later. */
static int drop_some(struct writer *writer)
{
    const struct keeper *keeper = &writer->keeper;
    if (keeps_all(writer))
        return 0;
    uint64_t rows = rows_written(writer) - rows_committed(writer);
    uint64_t waiting = queue_bytes(writer->queue);
    bool waits = waiting > BEHIND_BYTES && keeper->can_wait(keeper->self, waiting);
    return keeper->work(keeper->self, waits ? DROP_ROWS / 10 : DROP_ROWS + 4 * (int64_t)rows);
}

static int commit(struct writer *writer)
{
    uint64_t before = clock_now_ns();
    int err = drop_some(writer);
    if (err == 0)
        err = db_commit(writer->db);
    if (err < 0)
        return err;
    uint64_t after = clock_now_ns();
    struct writer_stats *stats = &writer->stats;
    stats->commits++;
    if (after - before > stats->longest_commit_ns)
        stats->longest_commit_ns = after - before;
    if (writer->oldest_made_ns < after && after - writer->oldest_made_ns > stats->behind_ns)
        stats->behind_ns = after - writer->oldest_made_ns;
    count_committed(writer);
    give_memory_back(writer, after);
    show(writer);
    return move_log(writer);
}

/* Keeps the batch in any case. */
static int write_batch(struct writer *writer, struct batch *batch)
{
    keep(writer, batch);
    int err = db_in_transaction(writer->db) ? 0 : begin(writer);
    if (err == 0)
        err = writer_sink_write(writer->sink, batch);
    if (err < 0)
        return err;
    if (!keeps_all(writer))
        writer->keeper.see(writer->keeper.self, batch);
    writer->stats.batches++;
    if (batch->made_ns && batch->made_ns < writer->oldest_made_ns)
        writer->oldest_made_ns = batch->made_ns;
    bool many = rows_written(writer) - rows_committed(writer) >= COMMIT_ROWS;
    return batch->commit || many || writer->tight ? commit(writer) : 0;
}

/* After the transaction failed with `err`. Returns 0 if all of it is stored after all. */
static int write_again(struct writer *writer, int err)
{
    bool full = err == ERR_FULL && !writer->tight;
    if (err == 0 || (!full && !db_index_was_cut(writer->db)))
        return err;
    struct batch *batch = take_kept(writer);
    roll_back(writer);
    writer->tight |= full;
    int moved = db_checkpoint(writer->db, false);
    err = moved == ERR_BUSY ? 0 : moved;
    while (batch && err == 0) {
        struct batch *next = batch->next;
        err = write_batch(writer, batch);
        batch = next;
    }
    free_list(batch);
    return err;
}

/* How long to wait for the next batch; 0 = the open transaction is due. */
static unsigned wait_ms(const struct writer *writer)
{
    if (!db_in_transaction(writer->db))
        return IDLE_MS;
    uint64_t age = clock_now_ns() - writer->began_ns;
    return age >= COMMIT_NS ? 0 : (unsigned)((COMMIT_NS - age) / NS_PER_MS) + 1;
}

/* What --keep does not keep goes before the end, however little of it went while batches waited. */
static int catch_up(struct writer *writer)
{
    const struct keeper *keeper = &writer->keeper;
    int err = 0;
    while (err == 0 && !keeps_all(writer) && keeper->is_behind(keeper->self)) {
        err = begin(writer);
        if (err == 0)
            err = commit(writer);
    }
    return err;
}

static void *run(void *context)
{
    struct writer *writer = context;
    bool closed = false;
    int err = 0;
    while (err == 0) {
        unsigned wait = wait_ms(writer);
        if (wait == 0) {
            err = write_again(writer, commit(writer));
            continue;
        }
        struct batch *batch = queue_pop(writer->queue, wait, &closed);
        if (!batch && closed)
            break;
        if (!batch)
            continue;
        err = write_again(writer, write_batch(writer, batch));
    }
    if (err == 0 && db_in_transaction(writer->db))
        err = write_again(writer, commit(writer));
    if (err == 0)
        err = write_again(writer, catch_up(writer));
    if (err < 0)
        fail(writer, err);
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
    if (!keeps_all(writer))
        writer->keeper.forget(writer->keeper.self);
    writer->keeper = (struct keeper){0};
}

int writer_start(struct writer **out, struct db *db, struct queue *queue,
                 const struct keeper *keeper, bool hide_paths)
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
    writer->hide_paths = hide_paths;
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
    if (writer->error == 0 && is_cut(db_cut(writer->db)))
        fail(writer, ERR_CORRUPT);
    const struct writer_rows *rows = writer_sink_rows(writer->sink);
    writer->stats.rows_inserted = rows->inserted;
    writer->stats.rows_updated = rows->updated;
    const struct keeper *keeper = &writer->keeper;
    bool hollow = false;
    if (!keeps_all(writer)) {
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
