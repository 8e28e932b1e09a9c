/*
 * What is left of a long run says of its peaks, leaks and phases what all of it would say.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "compare.h"
#include "db.h"
#include "error.h"
#include "loop.h"
#include "queue.h"
#include "retention.h"
#include "test.h"
#include "writer.h"

/* In the short form runs, and what is written at once, are a sixth as long, and limits a sixth as
 * large; where steps of certain numbers are looked at, or what every file has would weigh too much,
 * a third. */
static unsigned part(void)
{
    return test_is_long() ? 1 : 6;
}

static unsigned numbered_part(void)
{
    return test_is_long() ? 1 : 3;
}

static int64_t mebibytes(unsigned count)
{
    return ((int64_t)count << 20) / part();
}

/* ---- without threads: a batch, what is due, a commit ---- */

struct store {
    struct db *db;
    struct writer_sink *sink;
    struct retention *retention;
    int err;
    uint64_t most_bytes;   /* of the file and its log, at any commit */
    size_t most_processes; /* that were remembered */
    const char *path;
    uint64_t waiting;    /* bytes that wait to be written, as it were */
    int hurried;         /* so often little was dropped for their sake */
    bool held;           /* somebody reads all the time: the log cannot be emptied */
    uint64_t seen_bytes; /* the most, as retention saw it */
};

static uint64_t file_bytes(const char *path)
{
    struct stat file, log;
    char name[64];
    snprintf(name, sizeof name, "%s-wal", path);
    uint64_t bytes = stat(path, &file) == 0 ? (uint64_t)file.st_size : 0;
    return bytes + (stat(name, &log) == 0 ? (uint64_t)log.st_size : 0);
}

/* As the writer does it. */
static int64_t rows_due(struct store *store, const struct batch *batch)
{
    bool waits = store->waiting && retention_can_wait(store->retention, store->waiting);
    store->hurried += waits;
    return waits ? 100 : 10000 + 4 * (int64_t)batch->alloc_count;
}

static bool store_batch(void *self, struct batch *batch)
{
    struct store *store = self;
    int64_t rows = rows_due(store, batch);
    store->err = db_begin(store->db);
    if (store->err == 0)
        store->err = writer_sink_write(store->sink, batch);
    retention_see(store->retention, batch);
    if (store->err == 0)
        store->err = retention_work(store->retention, rows);
    CHECK(retention_is_valid(store->retention));
    batch_free(batch);
    if (store->err == 0)
        store->err = db_commit(store->db);
    if (store->err == 0 && db_log_bytes(store->db) > retention_log_bytes(store->retention, 4 << 20))
        db_checkpoint(store->db, true);
    uint64_t bytes = file_bytes(store->path);
    if (bytes > store->most_bytes)
        store->most_bytes = bytes;
    size_t processes = retention_processes(store->retention);
    if (processes > store->most_processes)
        store->most_processes = processes;
    return store->err == 0;
}

static struct db *hold(const char *path)
{
    struct db *reader = NULL;
    REQUIRE(db_open(&reader, path) == 0);
    REQUIRE(db_exec(reader, "BEGIN; SELECT count(*) FROM allocation") == 0);
    return reader;
}

static struct store make_as(struct store store, const struct loop_options *loop,
                            const struct retention_options *retention)
{
    const char *path = store.path;
    unlink(path);
    REQUIRE(db_create(&store.db, path) == 0);
    REQUIRE(writer_sink_new(&store.sink, store.db) == 0);
    REQUIRE(retention_new(&store.retention, store.db, retention) == 0);
    struct db *reader = store.held ? hold(path) : NULL;
    loop_run(loop, store_batch, &store);
    db_close(reader);
    store.seen_bytes = retention_most_bytes(store.retention);
    retention_free(store.retention);
    writer_sink_free(store.sink);
    if (db_in_transaction(store.db))
        db_rollback(store.db);
    CHECK_INT(db_single_file(store.db), 0);
    db_close(store.db);
    return store;
}

static struct store make(const char *path, const struct loop_options *loop,
                         const struct retention_options *retention)
{
    return make_as((struct store){.path = path}, loop, retention);
}

static struct loop_options usual(void)
{
    return (struct loop_options){.steps = 3000 / numbered_part(),
                                 .processes = 1,
                                 .leak_every = 7,
                                 .grow_until = 1500 / numbered_part(),
                                 .oom_at = 777,
                                 .batch_every = 512 / numbered_part()};
}

/* ---- cases ---- */

TEST(nothing_goes_where_nothing_was_asked)
{
    struct retention_options none = {0};
    struct retention *retention;
    REQUIRE(chdir(test_folder()) == 0);
    CHECK_INT(retention_new(&retention, NULL, &none), 0);
    CHECK(retention == NULL);
    struct loop_options loop = usual();
    make(whole_path, &loop, NULL);
    make(thin_path, &loop, &none);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM thinned"), 0);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM allocation"),
              compare_number(whole_path, "SELECT count(*) FROM allocation"));
    compare_all();
}

TEST(steps_are_kept)
{
    struct retention_options options = {.keep_steps = 20};
    struct loop_options loop = usual();
    loop.leak_every = 1000; /* each is a new peak for a while */
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    make(thin_path, &loop, &options);
    compare_all();
    /* 10 first, 20 last, a peak in each hundred and an OOM with two neighbours each, and the few
     * that are not decided yet. */
    const int64_t kept = 10 + 20 + (int64_t)loop.grow_until / 100 * 3 + 3;
    int64_t steps = compare_number(thin_path, "SELECT count(DISTINCT step) FROM allocations"
                                              " WHERE phase = 'forward'");
    CHECK(steps >= kept && steps <= kept + 4);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM phase"),
              compare_number(whole_path, "SELECT count(*) FROM phase"));
    /* What is not there is told: all of it and no more. */
    CHECK_INT(compare_number(whole_path, "SELECT count(*) FROM allocation") -
                  compare_number(thin_path, "SELECT count(*) FROM allocation"),
              compare_number(thin_path, "SELECT sum(n) FROM thinned WHERE what = 'blocks'"));
    CHECK_INT(compare_number(thin_path, "SELECT sum(blocks) FROM site_sum"),
              compare_number(thin_path, "SELECT sum(n) FROM thinned WHERE what = 'blocks'"));
}

/* In a step that is kept, all is there. */
TEST(kept_steps_are_whole)
{
    static const char sql[] =
        "SELECT a.seq, a.free_seq, a.size FROM allocation a"
        "  JOIN (SELECT min(begin_seq) AS b, max(end_seq) AS e FROM phase WHERE step BETWEEN %d"
        "        AND %d) ON a.seq <= e AND (a.free_seq < 0 OR a.free_seq >= b) ORDER BY 1";
    struct loop_options loop = usual();
    const int last = (int)loop.steps, peak = (int)loop.grow_until - 63;
    const int steps[][2] = {
        {0, 9}, {336, 338}, {776, 778}, {peak - 1, peak + 1}, {last - 20, last - 1}};
    struct retention_options options = {.keep_steps = 20};
    struct buf whole = {0}, thin = {0};
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    make(thin_path, &loop, &options);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        char text[512];
        snprintf(text, sizeof text, sql, steps[i][0], steps[i][1]);
        compare_answer(whole_path, text, &whole);
        compare_answer(thin_path, text, &thin);
        CHECK(whole.count > 1000);
        CHECK_STR(buf_string(&thin), buf_string(&whole));
    }
    buf_clear(&whole);
    buf_clear(&thin);
}

TEST(a_limit_holds)
{
    struct retention_options options = {.max_bytes = mebibytes(8)};
    struct loop_options loop = usual();
    loop.steps = 9000 / part();
    loop.small = true;
    loop.leak_every = 70;
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    struct store store = make(thin_path, &loop, &options);
    CHECK_INT(store.err, 0);
    CHECK(file_bytes(whole_path) > (uint64_t)mebibytes(14));
    CHECK(store.most_bytes < (uint64_t)mebibytes(8));
    compare_all();
    CHECK(compare_number(thin_path, "SELECT count(*) FROM phase") <
          compare_number(whole_path, "SELECT count(*) FROM phase") / 2);
    CHECK_INT(compare_number(whole_path, "SELECT count(*) FROM phase") -
                  compare_number(thin_path, "SELECT count(*) FROM phase"),
              compare_number(thin_path, "SELECT sum(n) FROM thinned WHERE what = 'phases'"));
    CHECK_INT(compare_number(thin_path,
                             "SELECT count(*) FROM stretch s"
                             " WHERE NOT EXISTS (SELECT 1 FROM phase WHERE id = s.phase)"),
              0);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM phase c WHERE parent IS NOT NULL AND"
                                        " NOT EXISTS (SELECT 1 FROM phase WHERE id = c.parent)"),
              0);
}

/* Only the highest peak stays; the others were outdone. */
TEST(peaks_that_were_outdone_go)
{
    struct retention_options options = {.max_bytes = ((int64_t)8 << 20) / numbered_part()};
    struct loop_options loop = usual();
    loop.steps = 9000 / numbered_part();
    loop.small = true;
    loop.leak_every = 700;
    loop.grow_until = test_is_long() ? 7000 : 2300;
    int highest = test_is_long() ? 6937 : 2237;
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    make(thin_path, &loop, &options);
    compare_all();
    CHECK_INT(compare_number(thin_path, "SELECT step FROM peak"), highest);
    char sql[128];
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM allocations WHERE step = %d AND phase = 'forward'", highest);
    CHECK_INT(compare_number(thin_path, sql), compare_number(whole_path, sql));
    snprintf(sql, sizeof sql,
             "SELECT count(DISTINCT step) FROM allocations WHERE phase = 'forward'"
             " AND step BETWEEN 11 AND %d",
             highest - 2);
    CHECK(compare_number(thin_path, sql) < 4);
}

TEST(processes_go_each_by_itself)
{
    struct retention_options options = {.max_bytes = ((int64_t)8 << 20) / numbered_part()};
    struct loop_options loop = usual();
    loop.steps = 6000 / numbered_part();
    loop.small = true;
    loop.processes = 2;
    loop.leak_every = 90;
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    struct store store = make(thin_path, &loop, &options);
    CHECK_INT(store.err, 0);
    CHECK(store.most_bytes < (uint64_t)options.max_bytes);
    compare_all();
}

TEST(without_steps_stretches_of_events_go)
{
#ifdef __SANITIZE_ADDRESS__
    if (!test_is_long())
        SKIP("half a million events have no short form, and their code is that of the other cases");
#endif
    struct retention_options options = {.keep_steps = 3};
    struct loop_options loop = {
        .steps = test_is_long() ? 60000 : 48000, .processes = 1, .no_steps = true};
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    make(thin_path, &loop, &options);
    CHECK(compare_number(thin_path, "SELECT count(*) FROM allocation") <
          compare_number(whole_path, "SELECT count(*) FROM allocation") * 3 / 4);
    compare_all();
}

/* Of what the device did, and of parts of pools, what belongs to kept steps is there and no more;
 * with a limit, of samples too. */
TEST(what_was_told_of_the_device_goes_along)
{
    static const char *const tables[] = {"activity", "driver_memory", "sample"};
    struct retention_options options[] = {{.keep_steps = 20}, {.max_bytes = mebibytes(8)}};
    struct loop_options loop = usual();
    loop.driver = true;
    loop.leak_every = 0;
    REQUIRE(chdir(test_folder()) == 0);
    for (size_t i = 0; i < 2; i++) {
        loop.steps = i ? 3000 / part() : 800 / part();
        make(whole_path, &loop, NULL);
        CHECK_INT(compare_number(whole_path, "SELECT count(*) FROM activity"),
                  2 * (int64_t)loop.steps);
        make(thin_path, &loop, &options[i]);
        compare_all();
        for (size_t k = 0; k < 3; k++) {
            char sql[128];
            bool all = i == 0 && k == 2;
            snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", tables[k]);
            int64_t whole = compare_number(whole_path, sql), thin = compare_number(thin_path, sql);
            CHECK(all ? thin == whole : thin < whole * 3 / 4 && thin >= 10);
        }
        for (int step = 0; step < 10; step++) {
            char sql[256];
            snprintf(sql, sizeof sql,
                     "SELECT count(*) FROM activity a JOIN phase p ON p.step = %d AND"
                     " p.kind = 'forward' AND a.seq BETWEEN p.begin_seq AND p.end_seq",
                     step);
            CHECK_INT(compare_number(thin_path, sql), 2);
        }
    }
}

/* They go with the step in which they end, but for those that met one which is kept. */
TEST(phases_of_threads_outlast_their_step)
{
    static const char in_the_middle[] =
        "SELECT count(*) FROM phase WHERE thread = 2 AND step BETWEEN 300 AND 700";
    struct retention_options options = {.max_bytes = mebibytes(16)};
    struct loop_options loop = usual();
    loop.steps = 6000 / part();
    loop.aside = true;
    loop.leak_every = 90;
    loop.grow_until = 0;
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    make(thin_path, &loop, &options);
    CHECK(compare_number(whole_path, in_the_middle) >= 400);
    CHECK(compare_number(thin_path, in_the_middle) < 100);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM allocation_phase ap WHERE NOT EXISTS"
                                        " (SELECT 1 FROM phase WHERE id = ap.phase)"),
              0);
    compare_all();
}

/* However many come and go, those that live are remembered. */
TEST(processes_that_ended_are_forgotten)
{
    struct retention_options options = {.keep_steps = 3};
    struct loop_options loop = usual();
    loop.processes = 2;
    loop.small = true;
    loop.life = 40;
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    struct store store = make(thin_path, &loop, &options);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM process"), 2 + (int)loop.steps / 40);
    CHECK(store.most_processes < 30); /* as many as end between two commits, and two */
    CHECK(compare_number(thin_path, "SELECT count(*) FROM allocation") <
          compare_number(whole_path, "SELECT count(*) FROM allocation") / 2);
    compare_all();
}

/* What stays of each is little, but they are many: their first and last steps go, too. */
TEST(processes_that_ended_give_up_their_past)
{
    struct retention_options options = {.max_bytes = ((int64_t)(test_is_long() ? 16 : 24) << 20) /
                                                     numbered_part()};
    struct loop_options loop = usual();
    loop.steps = 6000 / numbered_part();
    loop.processes = 2;
    loop.life = 12;
    loop.leak_every = 90;
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    struct store store = make(thin_path, &loop, &options);
    CHECK_INT(store.err, 0);
    CHECK(store.most_bytes < (uint64_t)options.max_bytes);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM process"), 2 + (int)loop.steps / 12);
    compare_later();
    CHECK(compare_number(thin_path,
                         "SELECT count(*) FROM phase_table WHERE process = 2 AND step < 12") <
          compare_number(whole_path,
                         "SELECT count(*) FROM phase_table WHERE process = 2 AND step < 12"));
    CHECK_INT(compare_number(thin_path,
                             "SELECT count(*) FROM stretch s"
                             " WHERE NOT EXISTS (SELECT 1 FROM phase WHERE id = s.phase)"),
              0);
}

/* While batches wait little goes, and it is later than usual that the file stops to grow: within
 * its limit all the same, and with all that it would have said. */
TEST(what_waits_comes_first)
{
    struct retention_options options = {.max_bytes = mebibytes(16)};
    struct loop_options loop = usual();
    loop.steps = 12000 / part();
    loop.grow_until = 0;
    loop.leak_every = 90;
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    struct store store = make_as(
        (struct store){.path = thin_path, .waiting = (uint64_t)mebibytes(1)}, &loop, &options);
    CHECK_INT(store.err, 0);
    CHECK(store.hurried > 0);
    CHECK(store.most_bytes > (uint64_t)mebibytes(12) && store.most_bytes < (uint64_t)mebibytes(16));
    compare_all();
}

/* While somebody reads, the log cannot be emptied, and the limit is not kept: it is known by how
 * much. */
TEST(a_reader_is_noticed)
{
    struct retention_options options = {.max_bytes = mebibytes(16)};
    struct loop_options loop = usual();
    loop.steps = 6000 / part();
    loop.leak_every = 90;
    REQUIRE(chdir(test_folder()) == 0);
    struct store alone = make(thin_path, &loop, &options);
    CHECK_INT(alone.err, 0);
    CHECK(alone.seen_bytes > (uint64_t)mebibytes(8) && alone.seen_bytes <= (uint64_t)mebibytes(16));
    struct store store = make_as((struct store){.path = thin_path, .held = true}, &loop, &options);
    CHECK_INT(store.err, 0);
    CHECK(store.seen_bytes > (uint64_t)mebibytes(16));
}

static bool push(void *self, struct batch *batch)
{
    return queue_push(self, batch);
}

/* However far it was behind, in the end only what was to be kept is there, and no empty pages. */
TEST(the_writer_catches_up)
{
    struct retention_options options = {.keep_steps = 20};
    struct loop_options loop = usual();
    struct queue *queue = NULL;
    struct db *db = NULL;
    struct writer *writer = NULL;
    bool single = false;
    loop.leak_every = 1000;
    REQUIRE(chdir(test_folder()) == 0);
    make(thin_path, &loop, &options);
    int64_t blocks = compare_number(thin_path, "SELECT count(*) FROM allocation");
    unlink(thin_path);
    REQUIRE(db_create(&db, thin_path) == 0);
    REQUIRE(queue_new(&queue, (size_t)1 << 30) == 0);
    loop_run(&loop, push, queue);
    CHECK(queue_bytes(queue) > (size_t)16 << 20);
    queue_close(queue);
    REQUIRE(retention_start_writer(&writer, db, queue, false, &options) == 0);
    CHECK_INT(writer_finish(writer, &single, NULL), 0);
    CHECK(single);
    queue_free(queue);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM allocation"), blocks);
    CHECK_INT(compare_number(thin_path, "SELECT * FROM pragma_freelist_count"), 0);
    CHECK_INT(access("thin.db-shrunk", F_OK), -1);
}

/* Room is short when the last process ends, but nothing is to come that needs it. */
TEST(the_end_gives_nothing_up)
{
    struct loop_options loop = usual();
    loop.steps = 10;
    loop.batch_every = 5;
    REQUIRE(chdir(test_folder()) == 0);
    make(whole_path, &loop, NULL);
    struct retention_options options = {.max_bytes = (int64_t)file_bytes(whole_path) * 13 / 12};
    struct store store = make(thin_path, &loop, &options);
    CHECK_INT(store.err, 0);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM process WHERE end_ns IS NULL"), 0);
    CHECK_INT(compare_number(thin_path, "SELECT count(*) FROM thinned"), 0);
    CHECK_INT(compare_number(thin_path, "SELECT count(DISTINCT step) FROM phase"), 10);
    compare_all();
}

/* Living blocks alone are more than fits: the recording says so and ends; it does not grow. */
TEST(what_has_to_stay_may_be_too_much)
{
    struct retention_options options = {.max_bytes = mebibytes(8)};
    struct loop_options loop = usual();
    loop.steps = 30000 / part();
    loop.small = true;
    loop.leak_every = 1;
    REQUIRE(chdir(test_folder()) == 0);
    struct store store = make(thin_path, &loop, &options);
    CHECK_INT(store.err, ERR_LIMIT);
    CHECK(store.most_bytes < (uint64_t)mebibytes(11));
}

TEST_MAIN(TEST_CASE(phases_of_threads_outlast_their_step),
          TEST_CASE(processes_that_ended_are_forgotten),
          TEST_CASE(processes_that_ended_give_up_their_past), TEST_CASE(what_waits_comes_first),
          TEST_CASE(the_end_gives_nothing_up), TEST_CASE(a_reader_is_noticed),
          TEST_CASE(the_writer_catches_up), TEST_CASE(nothing_goes_where_nothing_was_asked),
          TEST_CASE(steps_are_kept), TEST_CASE(kept_steps_are_whole), TEST_CASE(a_limit_holds),
          TEST_CASE(peaks_that_were_outdone_go), TEST_CASE(processes_go_each_by_itself),
          TEST_CASE(without_steps_stretches_of_events_go),
          TEST_CASE(what_was_told_of_the_device_goes_along),
          TEST_CASE(what_has_to_stay_may_be_too_much))
