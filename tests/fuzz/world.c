#include "world.h"

#include "error.h"
#include "fuzz.h"

#define MOST_VIEWS 64
#define MOST_ROWS 100000

static struct db *db;
static struct writer_sink *sink;
static char views[MOST_VIEWS][64];
static size_t view_count;

static void close_database(void)
{
    writer_sink_free(sink);
    db_close(db);
}

static void list_views(void)
{
    struct db_stmt *stmt;
    MUST(db_prepare(db, &stmt, "SELECT name FROM sqlite_schema WHERE type='view'") == 0);
    while (db_step(stmt) == DB_ROW) {
        MUST(view_count < MOST_VIEWS);
        snprintf(views[view_count++], sizeof *views, "%s", db_column_text(stmt, 0));
    }
    db_finalize(stmt);
    MUST(view_count > 0);
}

static void make_database(void)
{
    char path[128];
    if (db)
        return;
    snprintf(path, sizeof path, "%s/world.db", fuzz_folder());
    MUST(db_create(&db, path) == 0);
    MUST(writer_sink_new(&sink, db) == 0);
    list_views();
    atexit(close_database);
}

void world_begin(struct world *world, const struct state_options *options, bool stores)
{
    *world = (struct world){.stores = stores};
    MUST(state_new(&world->state, options) == BASE_OK);
    if (stores) {
        make_database();
        MUST(db_begin(db) == 0);
    }
}

struct state_process *world_process(struct world *world, int64_t pid, uint64_t at_ns)
{
    struct state_hello hello = {.pid = pid,
                                .parent = BATCH_NULL,
                                .origin = "root",
                                .at_ns = at_ns,
                                .rank = BATCH_NULL,
                                .local_rank = BATCH_NULL,
                                .world_size = BATCH_NULL};
    struct state_process *process = state_process_begin(world->state, &hello);
    MUST(process);
    return process;
}

void world_flush(struct world *world, uint64_t now_ns, bool commit)
{
    MUST(state_is_valid(world->state));
    struct batch *batch = state_flush(world->state, now_ns, commit);
    MUST(batch);
    MUST(state_is_valid(world->state));
    if (world->stores && writer_sink_write(sink, batch) != 0) {
        fprintf(stderr, "%s\n", db_message(db));
        MUST(false && "every row can be written");
    }
    batch_free(batch);
}

static void read_view(const char *name)
{
    char query[96];
    struct db_stmt *stmt;
    int err = 0, rows = 0;
    snprintf(query, sizeof query, "SELECT * FROM %s", name);
    MUST(db_prepare(db, &stmt, query) == 0);
    while (rows++ < MOST_ROWS && (err = db_step(stmt)) == DB_ROW)
        ;
    if (err < 0) {
        fprintf(stderr, "%s: %s\n", name, db_message(db));
        MUST(false && "every view can be read");
    }
    db_finalize(stmt);
}

void world_end(struct world *world, uint64_t now_ns, bool looks)
{
    struct state_totals totals;
    world_flush(world, now_ns, true);
    state_totals(world->state, &totals);
    state_free(world->state);
    if (!world->stores)
        return;
    for (size_t i = 0; looks && i < view_count; i++)
        read_view(views[i]);
    MUST(db_rollback(db) == 0);
}
