/* Snapshots of PyTorch's allocator, from the pickle to the database. */
#include <stdio.h>

#include "error.h"
#include "feed.h"
#include "format.h"
#include "mem.h"
#include "pickle.h"
#include "writing.h"

struct import {
    struct import_result *result;
    struct snapshot snapshot;
    struct rebuild *rebuilds;
    size_t device_count;
    struct writing writing;
};

/* ---- rebuilding ---- */

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
    int joined = snapshot_join_host(&import->snapshot);
    if (joined)
        return joined;
    import->device_count = snapshot_devices(&import->snapshot);
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
        .state = import->writing.state,
        .source = options->source,
        .all_frames = options->all_frames,
        .flush = writing_flush,
        .self = &import->writing,
    };
    int64_t base_us = feed_base_us(&import->snapshot);
    int err = writing_begin(&import->writing, base_us);
    if (err == BASE_OK)
        err = feed_run(&all);
    state_totals(import->writing.state, &totals);
    /* What the state had no memory for it counts as lost, and goes on; here one can begin anew. */
    if (err == BASE_OK && totals.lost > result->frees_lost)
        err = import_say(result, ERR_NOMEM, base_err_text(ERR_NOMEM));
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
    if (err)
        return err;
    return writing_finish(&import->writing, (all.now_us - base_us) * 1000,
                          "the snapshot was taken");
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
    result->overflowed = import->snapshot.settings.overflowed;
    result->max_entries = import->snapshot.settings.max_entries;
    result->is_xpu = snapshot_is_xpu(&import->snapshot);
    if (err)
        return import_say(result, err, trouble.text);
    input_close(input);
    err = rebuild_all(import);
    result->left_host = import->snapshot.left_host;
    if (err && import->snapshot.too_many_places)
        return import_say(result, ERR_LIMIT, "it has too many streams and pools");
    if (err == BASE_OK)
        err = writing_open(&import->writing, options->output, result);
    if (err == BASE_OK)
        err = feed(import, options);
    if (err && !*result->message)
        import_say(result, err, base_err_text(err));
    return err;
}

static int read_torch(struct pickle_input *input, const struct import_options *options,
                      struct import_result *result)
{
    struct import import = {.result = result};
    result->is_snapshot = true;
    int err = run(&import, input, options);
    writing_clear(&import.writing);
    for (size_t d = 0; import.rebuilds && d < import.device_count; d++)
        rebuild_clear(&import.rebuilds[d]);
    mem_free(import.rebuilds);
    snapshot_clear(&import.snapshot);
    return err;
}

static bool is_torch(const unsigned char *first, size_t count)
{
    return count && first[0] == 0x80; /* PROTO, with which protocols 2 and later begin */
}

const struct import_format format_torch = {"a PyTorch snapshot", NULL, is_torch,
                                           read_torch,           NULL, NULL};
