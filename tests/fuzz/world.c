#include "world.h"

#include "error.h"
#include "fuzz.h"

#define MOST_VIEWS 64
#define MOST_ROWS 100000
#define ROWS_A_FLUSH 1000

static struct db *db;
static struct writer_sink *sink;
static struct db_stmt *views[MOST_VIEWS]; /* SELECT * FROM it; to prepare them takes long */
static size_t view_count;

static void close_database(void)
{
    for (size_t i = 0; i < view_count; i++)
        db_finalize(views[i]);
    writer_sink_free(sink);
    db_close(db);
}

static void prepare_views(void)
{
    char query[96];
    struct db_stmt *names;
    MUST(db_prepare(db, &names, "SELECT name FROM sqlite_schema WHERE type='view'") == 0);
    while (db_step(names) == DB_ROW) {
        MUST(view_count < MOST_VIEWS);
        snprintf(query, sizeof query, "SELECT * FROM %s", db_column_text(names, 0));
        MUST(db_prepare(db, &views[view_count++], query) == 0);
    }
    db_finalize(names);
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
    prepare_views();
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

void world_retain(struct world *world, const struct retention_options *options)
{
    MUST(world->stores && retention_new(&world->retention, db, options) == 0);
}

static void thin_out(struct retention *retention, const struct batch *batch)
{
    retention_see(retention, batch);
    int err = retention_work(retention, ROWS_A_FLUSH);
    if (err < 0 && err != ERR_LIMIT) {
        fprintf(stderr, "%s\n", db_message(db));
        MUST(false && "rows can go");
    }
    MUST(retention_is_valid(retention));
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
    if (world->retention)
        thin_out(world->retention, batch);
    batch_free(batch);
}

static void read_view(size_t which)
{
    struct db_stmt *view = views[which];
    int err = 0, rows = 0;
    while (rows++ < MOST_ROWS && (err = db_step(view)) == DB_ROW)
        ;
    if (err < 0) {
        fprintf(stderr, "view %zu: %s\n", which, db_message(db));
        MUST(false && "every view can be read");
    }
    db_reset(view);
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
        read_view(i);
    retention_free(world->retention);
    MUST(db_rollback(db) == 0);
}
