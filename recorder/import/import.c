#include "import.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "feed.h"
#include "mem.h"
#include "pickle.h"
#include "writer.h"

#define CHECKPOINT_BYTES (UINT64_C(64) << 20)

struct import {
    struct import_result *result;
    struct snapshot snapshot;
    struct rebuild *rebuilds;
    size_t device_count;
    struct db *db;
    struct state *state;
    struct writer_sink *sink;
};

static int say(struct import *import, int err, const char *text)
{
    snprintf(import->result->message, sizeof import->result->message, "%s", text);
    return err;
}

/* ---- writing ---- */

static int write_failed(struct import *import, int err)
{
    import->result->wrote = true;
    say(import, err, db_message(import->db));
    if (db_in_transaction(import->db))
        db_rollback(import->db);
    return err;
}

static int flush(struct import *import, uint64_t now_ns, bool commit)
{
    struct batch *batch = state_flush(import->state, now_ns, commit);
    if (!batch)
        return ERR_NOMEM;
    int err = db_begin(import->db);
    if (err >= 0)
        err = writer_sink_write(import->sink, batch);
    if (err >= 0)
        err = db_commit(import->db);
    if (err >= 0 && db_log_bytes(import->db) > CHECKPOINT_BYTES) {
        int moved = db_checkpoint(import->db, false);
        err = moved == ERR_BUSY ? 0 : moved; /* somebody reads it: later, then */
    }
    batch_free(batch);
    return err < 0 ? write_failed(import, err) : BASE_OK;
}

static int flush_rows(void *self)
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

static bool put_meta(struct import *import)
{
    struct batch *batch = state_batch(import->state);
    return put_text(batch, "tidemark_version", TIDEMARK_VERSION) &&
           put_number(batch, "event_format", EVENT_FORMAT) && put_number(batch, "finished", 0) &&
           put_times(batch, feed_base_us(&import->snapshot));
}

static int open_output(struct import *import, const char *output)
{
    struct state_options options = {0};
    int err = db_create(&import->db, output);
    if (err) {
        import->result->wrote = true;
        return say(import, err, db_open_message());
    }
    err = writer_sink_new(&import->sink, import->db);
    if (err == BASE_OK)
        err = state_new(&import->state, &options);
    return err ? say(import, err, base_err_text(err)) : BASE_OK;
}

/* The last rows, and one file of it all. */
static int finish(struct import *import, int64_t last_us)
{
    struct batch *batch = state_batch(import->state);
    int64_t base_us = feed_base_us(&import->snapshot);
    bool put = put_text(batch, "ended", "the snapshot was taken") &&
               put_number(batch, "run_ns", (last_us - base_us) * 1000) &&
               put_number(batch, "finished", 1);
    int err = put ? flush(import, 0, true) : say(import, ERR_NOMEM, base_err_text(ERR_NOMEM));
    if (err)
        return err;
    err = db_checkpoint(import->db, true);
    if (err >= 0)
        err = db_single_file(import->db);
    return err < 0 && err != ERR_BUSY ? write_failed(import, err) : BASE_OK;
}

/* ---- rebuilding ---- */

static size_t count_devices(const struct snapshot *snapshot)
{
    size_t count = snapshot->trace_count;
    for (size_t i = 0; i < snapshot->listed_count; i++) {
        size_t device = snapshot->segments[snapshot->listed_first + i].device;
        if (device >= count)
            count = device + 1;
    }
    return count;
}

static void add_counts(struct import_result *result, const struct rebuild *rebuild)
{
    const struct rebuild_counts *counts = &rebuild->counts;
    result->devices += rebuild->entry_count || rebuild->first_segment_count;
    result->sizes_checked += counts->sizes_checked;
    result->sizes_differ += counts->sizes_differ;
    result->misplaced += counts->misplaced;
    result->frees_lost += counts->allocs_lost;
    result->frees_unmatched += counts->frees_unmatched;
    result->segments_unmatched += counts->segments_unmatched;
    result->unknown_actions += counts->unknown_actions;
    result->odd_blocks += counts->odd_blocks;
}

static int rebuild_all(struct import *import)
{
    import->device_count = count_devices(&import->snapshot);
    import->rebuilds = mem_alloc(import->device_count, sizeof *import->rebuilds);
    int err = import->rebuilds ? BASE_OK : ERR_NOMEM;
    for (size_t d = 0; err == BASE_OK && d < import->device_count; d++) {
        err = rebuild_run(&import->rebuilds[d], &import->snapshot, (uint32_t)d);
        rebuild_forget_moment(&import->rebuilds[d]);
        add_counts(import->result, &import->rebuilds[d]);
    }
    return err;
}

/* ---- the whole ---- */

static int feed(struct import *import, const struct import_options *options)
{
    struct import_result *result = import->result;
    struct state_totals totals;
    struct feed all = {
        .snapshot = &import->snapshot,
        .rebuilds = import->rebuilds,
        .device_count = import->device_count,
        .state = import->state,
        .source = options->source,
        .all_frames = options->all_frames,
        .flush = flush_rows,
        .self = import,
    };
    bool put = put_meta(import);
    int err = feed_run(&all);
    state_totals(import->state, &totals);
    /* What the state had no memory for it counts as lost, and goes on; here one can begin anew. */
    if (err == BASE_OK && (!put || totals.lost > result->frees_lost))
        err = say(import, ERR_NOMEM, base_err_text(ERR_NOMEM));
    result->peak_allocated = totals.peak_allocated;
    result->events = all.counts.events;
    result->blocks = all.counts.blocks;
    result->segments = all.counts.segments;
    result->blocks_before = all.counts.blocks_before;
    result->segments_before = all.counts.segments_before;
    result->ooms = all.counts.oom;
    result->annotations = import->snapshot.note_count;
    result->annotations_skipped = all.notes.unmatched;
    feed_notes_clear(&all.notes);
    return err ? err : finish(import, all.now_us);
}

static int run(struct import *import, struct pickle_input *input,
               const struct import_options *options)
{
    struct pickle_trouble trouble;
    struct import_result *result = import->result;
    int err = pickle_read(input, &import->snapshot, &trouble);
    result->bytes_read = input_offset(input);
    result->records_bytes = import->snapshot.budget.most;
    result->odd_values = import->snapshot.odd_values;
    result->unknown_keys = import->snapshot.unknown_keys;
    result->cut_strings = import->snapshot.cut_strings;
    if (err)
        return say(import, err, trouble.text);
    input_close(input);
    err = rebuild_all(import);
    if (err && import->snapshot.too_many_places)
        return say(import, ERR_LIMIT, "it has too many streams and pools");
    if (err == BASE_OK)
        err = open_output(import, options->output);
    if (err == BASE_OK)
        err = feed(import, options);
    if (err && !*result->message)
        say(import, err, base_err_text(err));
    return err;
}

static int run_and_clear(struct pickle_input *input, const struct import_options *options,
                         struct import_result *result)
{
    struct import import = {.result = result};
    int err = run(&import, input, options);
    input_close(input);
    writer_sink_free(import.sink);
    state_free(import.state);
    db_close(import.db);
    for (size_t d = 0; import.rebuilds && d < import.device_count; d++)
        rebuild_clear(&import.rebuilds[d]);
    mem_free(import.rebuilds);
    snapshot_clear(&import.snapshot);
    return err;
}

int import_snapshot(const char *path, const struct import_options *options,
                    struct import_result *result)
{
    struct pickle_input input;
    *result = (struct import_result){0};
    int err = input_open(&input, path);
    if (err) {
        snprintf(result->message, sizeof result->message, "%s", strerror(errno));
        return err;
    }
    return run_and_clear(&input, options, result);
}

int import_bytes(const void *bytes, size_t count, const struct import_options *options,
                 struct import_result *result)
{
    struct pickle_input input;
    *result = (struct import_result){0};
    input_memory(&input, bytes, count);
    return run_and_clear(&input, options, result);
}
