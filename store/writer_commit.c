/*
 * writer_commit.c - transactions: batches are kept until they are committed, and written once more
 * after the disk was full.
 */
#include <assert.h>
#include <malloc.h>
#include <string.h>

#include "clock.h"
#include "error.h"
#include "writer_parts.h"

/* A commit writes what it has in memory at one go, and the queue stands still meanwhile: so not
 * after more rows than this, some three megabytes. */
#ifndef COMMIT_ROWS /* tests/inject has a smaller recorder */
#define COMMIT_ROWS 50000u
#endif
/* Moving the log writes each page that changed once more: rarely enough for that not to matter, and
 * so little at a time that it does not hold up the queue for long. */
#define LOG_BYTES (4u << 20)
#define DROP_ROWS 10000
#define BEHIND_BYTES (8u << 20) /* of batches that wait */
#define TRIM_NS (10 * NS_PER_S)
/* Somebody who holds the write lock is waited for while the run goes on; at its end not for long.
 */
#define BUSY_TRIES_AT_END 2

/* ---- batches of the open transaction ---- */

static uint64_t rows_written(const struct writer *writer)
{
    const struct writer_rows *rows = writer_sink_rows(writer->sink);
    return rows->inserted + rows->updated;
}

uint64_t writer_rows_committed(const struct writer *writer)
{
    return writer->committed.inserted + writer->committed.updated;
}

static void keep(struct writer *writer, struct batch *batch)
{
    assert(!*writer->open_last);
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

void writer_drop_kept(struct writer *writer)
{
    free_list(take_kept(writer));
}

void writer_roll_back(struct writer *writer)
{
    db_rollback(writer->db);
    if (!writer_keeps_all(writer))
        writer->keeper.rolled_back(writer->keeper.self);
    writer_sink_back_to(writer->sink, &writer->committed);
}

/* ---- the log, and what is told ---- */

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
    uint64_t bound =
        writer_keeps_all(writer) ? LOG_BYTES : keeper->log_bytes(keeper->self, LOG_BYTES);
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
    assert(db_in_transaction(writer->db));
    if (writer_keeps_all(writer))
        return 0;
    uint64_t rows = rows_written(writer) - writer_rows_committed(writer);
    uint64_t waiting = queue_bytes(writer->queue);
    bool waits = waiting > BEHIND_BYTES && keeper->can_wait(keeper->self, waiting);
    return keeper->work(keeper->self, waits ? DROP_ROWS / 10 : DROP_ROWS + 4 * (int64_t)rows);
}

int writer_commit(struct writer *writer)
{
    uint64_t before = clock_now_ns();
    int err = drop_some(writer);
    /* Where memory runs out, SQLite may undo the transaction by itself. */
    assert(err < 0 || db_in_transaction(writer->db));
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

int writer_write(struct writer *writer, struct batch *batch)
{
    keep(writer, batch);
    int err = db_in_transaction(writer->db) ? 0 : begin(writer);
    if (err == 0)
        err = writer_sink_write(writer->sink, batch);
    if (err < 0)
        return err;
    if (!writer_keeps_all(writer))
        writer->keeper.see(writer->keeper.self, batch);
    /* It asks the database, too, and can go on without an answer; the batch cannot. */
    if (!db_in_transaction(writer->db))
        return ERR_NOMEM;
    writer->stats.batches++;
    if (batch->made_ns && batch->made_ns < writer->oldest_made_ns)
        writer->oldest_made_ns = batch->made_ns;
    bool many = rows_written(writer) - writer_rows_committed(writer) >= COMMIT_ROWS;
    return batch->commit || many || writer->tight ? writer_commit(writer) : 0;
}

int writer_write_again(struct writer *writer, int err)
{
    bool full = err == ERR_FULL && !writer->tight;
    if (err == 0 || (!full && !db_index_was_cut(writer->db)))
        return err;
    struct batch *batch = take_kept(writer);
    writer_roll_back(writer);
    writer->tight |= full;
    int moved = db_checkpoint(writer->db, false);
    err = moved == ERR_BUSY ? 0 : moved;
    while (batch && err == 0) {
        struct batch *next = batch->next;
        err = writer_write(writer, batch);
        batch = next;
    }
    free_list(batch);
    return err;
}

int writer_catch_up(struct writer *writer)
{
    const struct keeper *keeper = &writer->keeper;
    int err = 0;
    while (err == 0 && !writer_keeps_all(writer) && keeper->is_behind(keeper->self)) {
        err = begin(writer);
        if (err == 0)
            err = writer_commit(writer);
    }
    return err;
}
