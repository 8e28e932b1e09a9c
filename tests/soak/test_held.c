/*
 * What a recorder holds for processes that have gone: nothing. Thousands of them come and go under
 * a whole one, with its server, its drain, its writer and what is thinned out, and in each rest
 * between bytes in use are counted.
 *
 * SQLite's are counted apart: they grow with the file up to its cache.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db.h"
#include "error.h"
#include "record.h"
#include "test.h"

/* Of SQLite, which tests do not see: counted if that was asked for before its first use. */
int sqlite3_initialize(void);
int64_t sqlite3_memory_used(void);

enum { ROUNDS = 5, STILL = 6 };
#define FILL "400000"

/* Processes of a round; a fiftieth of them become another image. */
static int each(void)
{
    return test_is_long() ? 600 : 150;
}

struct rest { /* when no thread has anything to do */
    uint64_t events;
    size_t ours, sqlites;
};

struct watched {
    struct rest rests[ROUNDS + 1];
    size_t count;
    struct rest last;
    unsigned still; /* looks that saw the same as the last one */
    int fifo;       /* the program waits for a byte */
};

static size_t in_use(void)
{
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    struct mallinfo info = mallinfo();
    return (size_t)info.uordblks + (size_t)info.hblkhd;
#endif
}

/* Some times a second. */
static void look(void *context, const struct record_progress *progress)
{
    struct watched *watched = context;
    if (!progress)
        return;
    struct rest now = {.events = progress->totals.events, .sqlites = (size_t)sqlite3_memory_used()};
    now.ours = in_use() - now.sqlites;
    bool same = now.events && memcmp(&now, &watched->last, sizeof now) == 0;
    watched->still = same ? watched->still + 1 : 0;
    watched->last = now;
    if (watched->still < STILL || watched->count > ROUNDS)
        return;
    watched->rests[watched->count++] = now;
    watched->still = 0;
    CHECK_INT(write(watched->fifo, "", 1), 1);
}

static void run(const struct retention_options *retention, struct watched *watched,
                uint64_t *processes)
{
    char rounds[16], count[16];
    snprintf(rounds, sizeof rounds, "%d", ROUNDS);
    snprintf(count, sizeof count, "%d", each());
    const char *fifo = test_path("fifo");
    REQUIRE(mkfifo(fifo, 0600) == 0);
    REQUIRE((watched->fifo = open(fifo, O_RDWR | O_CLOEXEC)) >= 0);
    const char *const argv[] = {TEST_PROGRAM, FILL, rounds, count, fifo, NULL};
    const struct record_options options = {.output = test_path("held.db"),
                                           .guest = TEST_GUEST,
                                           .wait = RECORD_WAIT_ALL,
                                           .retention = *retention,
                                           .argv = argv,
                                           .progress = look,
                                           .context = watched};
    struct record_result result;
    CHECK_INT(record_run(&options, &result), BASE_OK);
    CHECK_INT(result.exit_code, 0);
    CHECK_INT(result.summary.totals.lost, 0);
    CHECK_STR(buf_string(&result.summary.stopped), "");
    *processes = result.summary.processes;
    record_result_clear(&result);
    close(watched->fifo);
}

static int64_t ask(struct db *db, const char *sql)
{
    struct db_stmt *row;
    REQUIRE(db_prepare(db, &row, sql) == 0);
    REQUIRE(db_step(row) == DB_ROW);
    int64_t value = db_column_int(row, 0);
    db_finalize(row);
    return value;
}

/* A parent is known by its number, also to a child that outlives it and becomes another image. */
static void check_parents(void)
{
    struct db *db;
    REQUIRE(db_open(&db, test_path("held.db")) == 0);
    CHECK_INT(ask(db, "SELECT count(*) FROM process WHERE parent IS NULL"), 1);
    CHECK_INT(ask(db, "SELECT count(*) FROM process e WHERE e.origin = 'exec' AND e.parent <>"
                      " (SELECT b.parent FROM process b WHERE b.pid = e.pid AND b.id < e.id"
                      "   ORDER BY b.id DESC LIMIT 1)"),
              0);
    CHECK_INT(ask(db, "SELECT count(*) FROM process e JOIN process p ON p.id = e.parent"
                      " WHERE e.origin = 'exec' AND p.end_ns < e.start_ns AND p.id > 1"),
              ROUNDS * each() / 50);
    db_close(db);
}

/* The first rest is before the first of them; after some hundred everything has been there. A
 * process image that left 40 bytes behind would make it 12,000, and 100,000 in the long form. */
static void check_flat(const struct retention_options *retention, size_t more)
{
    struct watched watched = {0};
    uint64_t processes = 0;
    const char *tunables = getenv("GLIBC_TUNABLES"); /* what a thread keeps to itself is in use */
    sqlite3_initialize();
    if (in_use() == 0)
        SKIP("this malloc does not say what is in use");
    if (!tunables || !strstr(tunables, "tcache_count=0"))
        SKIP("wants GLIBC_TUNABLES=glibc.malloc.tcache_count=0");
    run(retention, &watched, &processes);
    for (size_t i = 0; i < watched.count; i++)
        fprintf(stderr, "rest %zu: %zu bytes in use, and %zu of SQLite\n", i, watched.rests[i].ours,
                watched.rests[i].sqlites);
    CHECK(processes > (uint64_t)(ROUNDS * each()));
    REQUIRE(watched.count == ROUNDS + 1);
    const struct rest *first = &watched.rests[test_is_long() ? 1 : 3];
    const struct rest *last = &watched.rests[ROUNDS];
    CHECK(last->ours <= first->ours + more);
    CHECK(last->sqlites < (size_t)20 << 20);
    check_parents();
}

TEST(nothing_is_held_where_all_is_kept)
{
    check_flat(&(struct retention_options){0}, 8192);
}

TEST(nothing_is_held_where_room_is_short)
{
    check_flat(&(struct retention_options){.max_bytes = 2 * RETENTION_SMALLEST},
               test_is_long() ? 131072 : 32768);
}

TEST_MAIN(TEST_CASE(nothing_is_held_where_all_is_kept),
          TEST_CASE(nothing_is_held_where_room_is_short))
