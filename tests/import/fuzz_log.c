#include "fuzz_log.h"

#include <unistd.h>

#include "db.h"
#include "error.h"
#include "fuzz.h"

#define MOST_ROWS 100000

static int drop_rows(void *self)
{
    struct state *state = self;
    MUST(state_is_valid(state));
    batch_free(state_flush(state, 0, false));
    return BASE_OK;
}

void fuzz_feed_log(struct block_log *log)
{
    struct import_result result = {0};
    struct state_options options = {.flush_allocs = 64};
    struct state *state = NULL;
    MUST(block_log_is_valid(log));
    MUST(state_new(&state, &options) == BASE_OK);
    struct block_log_feed feed = {.log = log,
                                  .state = state,
                                  .live = "fuzz",
                                  .allocator = "fuzz",
                                  .source = "fuzz",
                                  .requested = log->count & 1,
                                  .result = &result,
                                  .flush = drop_rows,
                                  .self = state};
    MUST(block_log_feed(&feed) == BASE_OK);
    MUST(state_is_valid(state) && feed.run_ns >= 0);
    batch_free(state_flush(state, 0, true));
    state_free(state);
    block_log_clear(log);
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

void fuzz_import_whole(const uint8_t *bytes, size_t count, bool readable)
{
    char path[128];
    struct import_result result = {0};
    snprintf(path, sizeof path, "%s/imported.db", fuzz_folder());
    struct import_options options = {.output = path, .source = "fuzz"};
    int err = import_bytes(bytes, count, &options, &result);
    MUST((err == BASE_OK) == readable && !result.wrote);
    MUST((err == BASE_OK) == (result.message[0] == '\0'));
    if (err == BASE_OK)
        read_views(path);
    unlink(path);
}
