#include "fuzz_whole.h"

#include <stdio.h>
#include <unistd.h>

#include "db.h"
#include "error.h"
#include "fuzz.h"
#include "import.h"
#include "state.h"

#define MOST_ROWS 100000

int fuzz_drop_rows(void *self)
{
    struct state *state = self;
    MUST(state_is_valid(state));
    batch_free(state_flush(state, 0, false));
    return BASE_OK;
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

void fuzz_import_whole(const uint8_t *bytes, size_t count, bool readable, bool all_frames)
{
    char path[128];
    struct import_result result = {0};
    snprintf(path, sizeof path, "%s/imported.db", fuzz_folder());
    struct import_options options = {.output = path, .source = "fuzz", .all_frames = all_frames};
    int err = import_bytes(bytes, count, &options, &result);
    MUST((err == BASE_OK) == readable && !result.wrote);
    MUST((err == BASE_OK) == (result.message[0] == '\0'));
    if (err == BASE_OK)
        read_views(path);
    unlink(path);
}
