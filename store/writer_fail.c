/*
 * writer_fail.c - the end of a writer that cannot go on: what is said, and what is kept.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "private.h"
#include "writer_parts.h"

/* A row of some bytes, into a log that is empty again if that was possible. */
static void store_reason(struct writer *writer)
{
    size_t bytes = writer->stats.reason_bytes;
    struct db_stmt *stmt = NULL;
    assert(bytes < sizeof writer->message);
    if (db_begin(writer->db) != 0)
        return;
    int err = db_prepare_known(writer->db, &stmt, SCH_META);
    if (err == 0) {
        char reason[WRITER_MESSAGE_BYTES];
        memcpy(reason, writer->message, bytes);
        if (writer->private)
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
                 (unsigned long long)writer_rows_committed(writer));
}

void writer_fail(struct writer *writer, int err)
{
    enum db_cut cut = db_cut(writer->db);
    writer->stats.cut = cut;
    if (cut == DB_CUT_FILE)
        writer->moved.events = writer->moved.blocks = 0;
    if (writer_is_cut(cut))
        go_back_to_moved(writer);
    say_why(writer, err);
    writer->error = err;
    writer_roll_back(writer);
    writer_drop_kept(writer);
    atomic_store_explicit(&writer->failed, true, memory_order_release);
    queue_close(writer->queue);
    if (cut == DB_CUT_FILE)
        return;
    db_salvage_log(writer->db);
    db_checkpoint(writer->db, false);
    store_reason(writer);
}
