/*
 * Retention without memory, and where its transaction is rolled back: what stays is more than it
 * would be, and says what all of the run would say. Nothing is counted twice.
 */
#include <stdio.h>
#include <unistd.h>

#include "compare.h"
#include "db.h"
#include "error.h"
#include "loop.h"
#include "mem.h"
#include "retention.h"
#include "test.h"
#include "writer_sink.h"

enum { BATCHES_MAX = 4096, LOOK_AT = 1000000 };

/* How a batch goes wrong. */
struct trouble {
    size_t batch;     /* the first that does */
    size_t batches;   /* so many of them */
    long memory;      /* the nth allocation in retention fails, and all behind it; 0: none */
    const char *when; /* deleting a row for which this holds fails; NULL: none */
    bool undo;        /* it is rolled back and written again, as the writer does on a full disk */
};

struct store {
    struct db *db;
    struct writer_sink *sink;
    struct retention *retention;
    struct trouble trouble;
    size_t batch;
    int failed; /* batches that did not go well at the first try */
};

static bool is_due(const struct store *store)
{
    const struct trouble *trouble = &store->trouble;
    return store->batch >= trouble->batch && store->batch - trouble->batch < trouble->batches;
}

static void set_trap(struct store *store, const char *when)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "CREATE TEMP TRIGGER trap BEFORE DELETE ON main.allocation WHEN %s"
             " BEGIN SELECT RAISE(ABORT, 'it fails'); END",
             when);
    REQUIRE(db_exec(store->db, sql) == 0);
}

/* As far as the commit. */
static int write_once(struct store *store, struct batch *batch, bool due)
{
    struct writer_rows before = *writer_sink_rows(store->sink);
    REQUIRE(db_begin(store->db) == 0);
    int err = writer_sink_write(store->sink, batch);
    REQUIRE(err == 0);
    if (due && store->trouble.when)
        set_trap(store, store->trouble.when);
    mem_fail_after(due ? store->trouble.memory : 0);
    retention_see(store->retention, batch);
    err = retention_work(store->retention, LOOK_AT);
    mem_fail_after(0);
    CHECK(retention_is_valid(store->retention));
    if (due && store->trouble.when)
        REQUIRE(db_exec(store->db, "DROP TRIGGER temp.trap") == 0);
    if (err == 0 && due && store->trouble.undo)
        err = ERR_FULL;
    if (err < 0) {
        CHECK_INT(err, store->trouble.when ? ERR_ARG : ERR_FULL);
        db_rollback(store->db);
        retention_rolled_back(store->retention);
        writer_sink_back_to(store->sink, &before);
        CHECK(retention_is_valid(store->retention));
    }
    return err;
}

static bool store_batch(void *self, struct batch *batch)
{
    struct store *store = self;
    int err = write_once(store, batch, is_due(store));
    store->failed += err < 0;
    if (err < 0)
        err = write_once(store, batch, false);
    CHECK_INT(err, 0);
    CHECK_INT(db_commit(store->db), 0);
    batch_free(batch);
    store->batch++;
    return err == 0;
}

/* Returns how many batches there were. */
static size_t make(const char *path, const struct loop_options *loop,
                   const struct retention_options *retention, const struct trouble *trouble,
                   int *failed)
{
    struct store store = {.trouble = *trouble};
    unlink(path);
    REQUIRE(db_create(&store.db, path) == 0);
    REQUIRE(writer_sink_new(&store.sink, store.db) == 0);
    REQUIRE(retention_new(&store.retention, store.db, retention) == 0);
    loop_run(loop, store_batch, &store);
    if (failed)
        *failed += store.failed;
    retention_free(store.retention);
    writer_sink_free(store.sink);
    CHECK_INT(db_check(store.db), 0);
    CHECK_INT(db_single_file(store.db), 0);
    db_close(store.db);
    return store.batch;
}

static const struct loop_options usual = {.steps = 120,
                                          .processes = 1,
                                          .small = true,
                                          .leak_every = 7,
                                          .grow_until = 90,
                                          .oom_at = 50,
                                          .batch_every = 8,
                                          .step_ns = 100000000};
static const struct retention_options by_steps = {.keep_steps = RETENTION_LEAST};
static const struct trouble none = {0};

/* Of what went, the sums know each block once. */
static void check_sums(void)
{
    CHECK_INT(compare_number(thin_path, "SELECT (SELECT count(*) FROM allocation)"
                                        " + (SELECT coalesce(sum(blocks), 0) FROM site_sum)"),
              compare_number(whole_path, "SELECT count(*) FROM allocation"));
    CHECK_INT(compare_number(thin_path, "SELECT coalesce(sum(n), 0) FROM thinned"
                                        " WHERE what = 'blocks'"),
              compare_number(thin_path, "SELECT coalesce(sum(blocks), 0) FROM site_sum"));
}

static int64_t dropped(void)
{
    return compare_number(thin_path, "SELECT coalesce(sum(blocks), 0) FROM site_sum");
}

/* From one batch that is tried to the next: eight of them, or in the short form four. */
static size_t stride(size_t batches)
{
    return 1 + batches / (test_is_long() ? 12 : 5);
}

/* ---- cases ---- */

TEST(memory_that_runs_out_keeps_more)
{
    REQUIRE(chdir(test_folder()) == 0);
    size_t batches = make(whole_path, &usual, NULL, &none, NULL);
    CHECK(batches > 8);
    make(thin_path, &usual, &by_steps, &none, NULL);
    int64_t usually = dropped(), less = 0;
    CHECK(usually > 100);
    compare_all();
    for (size_t batch = 0; batch < batches; batch += stride(batches))
        for (long n = 1; n < 40; n = test_is_long() ? n * 2 + 1 : n * 4 + 3) {
            struct trouble trouble = {.batch = batch, .batches = 1, .memory = n};
            make(thin_path, &usual, &by_steps, &trouble, NULL);
            compare_all();
            check_sums();
            CHECK(dropped() <= usually);
            less += dropped() < usually;
        }
    CHECK(less > (test_is_long() ? 10 : 3));
}

TEST(a_transaction_that_is_written_again_counts_nothing_twice)
{
    int failed = 0;
    REQUIRE(chdir(test_folder()) == 0);
    size_t batches = make(whole_path, &usual, NULL, &none, NULL);
    for (size_t batch = 0; batch < batches; batch += stride(batches)) {
        struct trouble trouble = {.batch = batch, .batches = 1, .undo = true};
        make(thin_path, &usual, &by_steps, &trouble, &failed);
        compare_all();
        check_sums();
    }
    CHECK(failed >= (test_is_long() ? 6 : 3));
}

TEST(a_row_that_cannot_go)
{
    static const char *const whens[] = {"1", "old.seq % 7 = 0", "old.seq % 50 = 0"};
    int failed = 0;
    REQUIRE(chdir(test_folder()) == 0);
    size_t batches = make(whole_path, &usual, NULL, &none, NULL);
    size_t first = 0; /* in the short form each batch has one of them */
    for (size_t batch = 0; batch < batches; batch += stride(batches), first++)
        for (size_t i = test_is_long() ? 0 : first % 3; i < 3; i += test_is_long() ? 1 : 3) {
            struct trouble trouble = {.batch = batch, .batches = 2, .when = whens[i]};
            make(thin_path, &usual, &by_steps, &trouble, &failed);
            compare_all();
            check_sums();
        }
    CHECK(failed > (test_is_long() ? 20 : 3));
}

TEST(under_a_limit_the_phases_stay_right_too)
{
    const unsigned part = test_is_long() ? 1 : 3;
    const struct retention_options limit = {.max_bytes = RETENTION_SMALLEST / part};
    struct loop_options loop = usual;
    int failed = 0;
    loop.steps = 4000 / part;
    loop.grow_until = 1000 / part;
    loop.batch_every = 512 / part;
    loop.small = false;
    REQUIRE(chdir(test_folder()) == 0);
    size_t batches = make(whole_path, &loop, NULL, &none, NULL);
    make(thin_path, &loop, &limit, &none, NULL);
    CHECK(dropped() > 0);
    struct trouble undo = {.batch = batches / 2, .batches = 3, .undo = true};
    make(thin_path, &loop, &limit, &undo, &failed);
    compare_all();
    check_sums();
    CHECK_INT(failed, 3);
}

TEST_MAIN(TEST_CASE(memory_that_runs_out_keeps_more),
          TEST_CASE(a_transaction_that_is_written_again_counts_nothing_twice),
          TEST_CASE(a_row_that_cannot_go), TEST_CASE(under_a_limit_the_phases_stay_right_too))
