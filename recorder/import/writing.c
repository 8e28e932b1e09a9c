#include "writing.h"

#include <stdio.h>
#include <time.h>

#include "error.h"
#include "event.h"
#include "format.h"

#define CHECKPOINT_BYTES (UINT64_C(64) << 20)

static int write_failed(struct writing *writing, int err)
{
    writing->result->wrote = true;
    import_say(writing->result, err, db_message(writing->db));
    if (db_in_transaction(writing->db))
        db_rollback(writing->db);
    return err;
}

static int flush(struct writing *writing, uint64_t now_ns, bool commit)
{
    struct batch *batch = state_flush(writing->state, now_ns, commit);
    if (!batch)
        return ERR_NOMEM;
    int err = db_begin(writing->db);
    if (err >= 0)
        err = writer_sink_write(writing->sink, batch);
    if (err >= 0)
        err = db_commit(writing->db);
    if (err >= 0 && db_log_bytes(writing->db) > CHECKPOINT_BYTES) {
        int moved = db_checkpoint(writing->db, false);
        err = moved == ERR_BUSY ? 0 : moved; /* somebody reads it: later, then */
    }
    batch_free(batch);
    return err < 0 ? write_failed(writing, err) : BASE_OK;
}

int writing_flush(void *self)
{
    return flush(self, 0, false);
}

static bool put_text(struct batch *batch, const char *key, const char *text)
{
    return batch_put_meta(batch, &(struct row_meta){.key = key, .value.text = text});
}

static bool put_number(struct batch *batch, const char *key, int64_t number)
{
    return batch_put_meta(batch, &(struct row_meta){.key = key, .value.number = row_opt(number)});
}

static bool put_times(struct batch *batch, int64_t base_us)
{
    char text[64];
    struct tm utc;
    time_t seconds = (time_t)(base_us / 1000000);
    if (!base_us || !gmtime_r(&seconds, &utc))
        return true;
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(text + n, sizeof text - n, ".%06dZ", (int)(base_us % 1000000));
    struct row_clock clock = {
        .run_ns = 0, .monotonic_ns = 0, .real_ns = base_us * 1000, .boot_ns = 0};
    return put_text(batch, "started", text) && batch_put_clock(batch, &clock);
}

int writing_begin(struct writing *writing, int64_t base_us)
{
    struct batch *batch = state_batch(writing->state);
    bool put = put_text(batch, "tidemark_version", TIDEMARK_VERSION) &&
               put_number(batch, "event_format", EVENT_FORMAT) &&
               put_number(batch, "finished", 0) && put_times(batch, base_us);
    return put ? BASE_OK : import_say(writing->result, ERR_NOMEM, base_err_text(ERR_NOMEM));
}

int writing_open(struct writing *writing, const char *output, struct import_result *result)
{
    struct state_options options = {0};
    *writing = (struct writing){.result = result};
    int err = db_create(&writing->db, output);
    if (err) {
        result->wrote = true;
        return import_say(result, err, db_open_message());
    }
    err = writer_sink_new(&writing->sink, writing->db);
    if (err == BASE_OK)
        err = state_new(&writing->state, &options);
    return err ? import_say(result, err, base_err_text(err)) : BASE_OK;
}

/* The last rows, and one file of it all. */
int writing_finish(struct writing *writing, int64_t run_ns, const char *ended)
{
    struct batch *batch = state_batch(writing->state);
    struct state_totals totals;
    state_totals(writing->state, &totals);
    writing->result->misfits = totals.anomalies;
    bool put = put_text(batch, "ended", ended) && put_number(batch, "run_ns", run_ns) &&
               put_number(batch, "finished", 1);
    int err = put ? flush(writing, 0, true)
                  : import_say(writing->result, ERR_NOMEM, base_err_text(ERR_NOMEM));
    if (err)
        return err;
    err = db_checkpoint(writing->db, true);
    if (err >= 0)
        err = db_single_file(writing->db);
    return err < 0 && err != ERR_BUSY ? write_failed(writing, err) : BASE_OK;
}

void writing_clear(struct writing *writing)
{
    writer_sink_free(writing->sink);
    state_free(writing->state);
    db_close(writing->db);
    *writing = (struct writing){0};
}
