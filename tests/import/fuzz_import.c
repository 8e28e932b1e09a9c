/*
 * Any bytes, all the way into the heap state, and one length in eight on into a database, of which
 * every view can be read. Built with -DTIDEMARK_FUZZ=ON, by clang, this is a libFuzzer target:
 *
 *     build/fuzz/tests/import/fuzz_import -max_total_time=3600 tests/import/corpus
 *
 * Otherwise it runs the files and folders that it is given, once: what was found stays found.
 */
#include <unistd.h>

#include "db.h"
#include "error.h"
#include "feed.h"
#include "fuzz.h"
#include "import.h"
#include "mem.h"
#include "pickle.h"

#define MOST_ROWS 100000

static int drop_rows(void *self)
{
    struct state *state = self;
    MUST(state_is_valid(state));
    batch_free(state_flush(state, 0, false));
    return BASE_OK;
}

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
                        .flush = drop_rows,
                        .self = state};
    MUST(feed_run(&feed) == BASE_OK);
    MUST(state_is_valid(state));
    batch_free(state_flush(state, 0, true));
    feed_notes_clear(&feed.notes);
    state_free(state);
}

static void rebuild_and_feed(struct snapshot *snapshot, bool all_frames)
{
    static struct rebuild rebuilds[IMPORT_MAX_DEVICES];
    size_t devices = snapshot->trace_count;
    for (size_t i = 0; i < snapshot->listed_count; i++)
        if (snapshot->segments[snapshot->listed_first + i].device >= devices)
            devices = snapshot->segments[snapshot->listed_first + i].device + 1;
    for (size_t d = 0; d < devices; d++) {
        MUST(rebuild_run(&rebuilds[d], snapshot, (uint32_t)d) == BASE_OK);
        MUST(rebuild_is_valid(&rebuilds[d]));
    }
    feed_all(snapshot, rebuilds, devices, all_frames);
    for (size_t d = 0; d < devices; d++)
        rebuild_clear(&rebuilds[d]);
}

static void read_view(struct db *db, const char *name)
{
    struct db_stmt *row;
    char query[96];
    int err, rows = 0;
    snprintf(query, sizeof query, "SELECT * FROM %s", name);
    MUST(db_prepare(db, &row, query) == 0);
    while ((err = db_step(row)) == DB_ROW && rows++ < MOST_ROWS)
        ;
    if (err < 0)
        fprintf(stderr, "%s: %s\n", name, db_message(db));
    MUST(err >= 0);
    db_finalize(row);
}

static void read_views(const char *path)
{
    struct db *db;
    struct db_stmt *names;
    MUST(db_open(&db, path) == 0);
    MUST(db_prepare(db, &names, "SELECT name FROM sqlite_schema WHERE type='view'") == 0);
    while (db_step(names) == DB_ROW)
        read_view(db, db_column_text(names, 0));
    db_finalize(names);
    db_close(db);
}

/* A file that can be read becomes a recording; of another nothing is said to be written. */
static void import_all(const uint8_t *bytes, size_t count, bool readable)
{
    char path[128];
    struct import_result result = {0};
    snprintf(path, sizeof path, "%s/imported.db", fuzz_folder());
    struct import_options options = {.output = path, .source = "fuzz", .all_frames = count / 8 & 1};
    int err = import_bytes(bytes, count, &options, &result);
    MUST((err == BASE_OK) == readable && !result.wrote);
    MUST((err == BASE_OK) == (result.message[0] == '\0'));
    if (err == BASE_OK)
        read_views(path);
    unlink(path);
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
    if (err == BASE_OK)
        rebuild_and_feed(&snapshot, count & 1);
    snapshot_clear(&snapshot);
    if (count % 8 == 0)
        import_all(bytes, count, err == BASE_OK);
    return 0;
}
