/*
 * Any bytes, all the way into the heap state, and one length in eight on into a database, of which
 * every view can be read. Built with -DTIDEMARK_FUZZ=ON, by clang, this is a libFuzzer target:
 *
 *     build/fuzz/tests/import/fuzz_import -max_total_time=3600 tests/import/corpus
 *
 * Otherwise it runs the files and folders that it is given, once: what was found stays found.
 */
#include "error.h"
#include "feed.h"
#include "fuzz.h"
#include "fuzz_whole.h"
#include "mem.h"
#include "pickle.h"

static void feed_all(struct snapshot *snapshot, struct rebuild *rebuilds, size_t devices,
                     bool all_frames)
{
    struct state_options options = {.flush_allocs = 64};
    struct state *state = NULL;
    MUST(state_new(&state, &options) == BASE_OK);
    struct feed feed = {.snapshot = snapshot,
                        .rebuilds = rebuilds,
                        .device_count = devices,
                        .state = state,
                        .source = "fuzz",
                        .all_frames = all_frames,
                        .flush = fuzz_drop_rows,
                        .self = state};
    MUST(feed_run(&feed) == BASE_OK);
    MUST(state_is_valid(state));
    batch_free(state_flush(state, 0, true));
    feed_notes_clear(&feed.notes);
    state_free(state);
}

static bool rebuild_and_feed(struct snapshot *snapshot, bool all_frames)
{
    static struct rebuild rebuilds[IMPORT_MAX_DEVICES];
    int err = snapshot_join_host(snapshot);
    MUST(err == BASE_OK || err == ERR_LIMIT);
    if (err)
        return false;
    MUST(snapshot_is_valid(snapshot));
    size_t devices = snapshot_devices(snapshot);
    MUST(devices <= IMPORT_MAX_DEVICES);
    for (size_t d = 0; d < devices; d++) {
        MUST(rebuild_run(&rebuilds[d], snapshot, (uint32_t)d) == BASE_OK);
        MUST(rebuild_is_valid(&rebuilds[d]));
    }
    feed_all(snapshot, rebuilds, devices, all_frames);
    for (size_t d = 0; d < devices; d++)
        rebuild_clear(&rebuilds[d]);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct snapshot snapshot = {0};
    struct pickle_input input;
    struct pickle_trouble trouble;
    input_memory(&input, bytes, count);
    int err = pickle_read(&input, &snapshot, &trouble);
    MUST(snapshot_is_valid(&snapshot));
    MUST((err == BASE_OK) == (trouble.text[0] == '\0'));
    MUST(snapshot.budget.most <= IMPORT_BUDGET_BASE + IMPORT_BUDGET_FACTOR * count + 65536);
    if (err == BASE_OK && !rebuild_and_feed(&snapshot, count & 1))
        err = ERR_LIMIT;
    snapshot_clear(&snapshot);
    if (count % 8 == 0)
        fuzz_import_whole(bytes, count, err == BASE_OK, count / 8 & 1);
    return 0;
}
