/*
 * How much the writer lets its keeper look through at each commit: here is one that only writes
 * down what it is asked for.
 */
#include <stdio.h>

#include "error.h"
#include "keeper.h"
#include "mem.h"
#include "store.h"
#include "test.h"

enum { ROUNDS = 64, ROWS = 20000 };

struct asked {
    struct queue *queue;
    struct db *db;
    bool can_wait;
    int rounds;
    struct {
        int64_t rows;     /* that it may look at */
        size_t waiting;   /* bytes in the queue by then */
        uint64_t offered; /* bytes it was asked about; 0: it was not */
    } seen[ROUNDS];
    uint64_t *offered;
    int forgotten;
};

static void see(void *self, const struct batch *batch)
{
    (void)self;
    (void)batch;
}

static bool can_wait(const void *self, uint64_t bytes)
{
    const struct asked *asked = self;
    *asked->offered = bytes;
    return asked->can_wait;
}

static int work(void *self, int64_t rows)
{
    struct asked *asked = self;
    int at = asked->rounds++;
    REQUIRE(at < ROUNDS);
    asked->seen[at].rows = rows;
    asked->seen[at].waiting = queue_bytes(asked->queue);
    asked->seen[at].offered = *asked->offered;
    *asked->offered = 0;
    return 0;
}

static void rolled_back(void *self)
{
    (void)self;
}

static bool is_behind(const void *self)
{
    (void)self;
    return false;
}

static bool is_hollow(void *self)
{
    (void)self;
    return false;
}

static uint64_t most_bytes(const void *self)
{
    (void)self;
    return 0;
}

static uint64_t log_bytes(const void *self, uint64_t usual)
{
    (void)self;
    return usual;
}

static void forget(void *self)
{
    struct asked *asked = self;
    asked->forgotten++;
}

static const struct keeper keeper_of_test = {
    .see = see,
    .work = work,
    .can_wait = can_wait,
    .is_behind = is_behind,
    .is_hollow = is_hollow,
    .rolled_back = rolled_back,
    .log_bytes = log_bytes,
    .most_bytes = most_bytes,
    .forget = forget,
};

/* 16 batches of some 2 MB each wait when the writer begins. */
static void write_all(struct asked *asked, bool waits)
{
    struct db *db = NULL;
    struct writer *writer = NULL;
    bool single;
    uint64_t offered = 0;
    struct keeper keeper = keeper_of_test;
    *asked = (struct asked){.can_wait = waits, .offered = &offered};
    keeper.self = asked;
    REQUIRE(db_create(&db, test_path("run.db")) == 0);
    REQUIRE(queue_new(&asked->queue, STORE_LIMIT) == 0);
    for (int i = 0; i < 16; i++)
        REQUIRE(queue_push(asked->queue, store_batch(1 + i * ROWS, ROWS, true)));
    queue_close(asked->queue);
    REQUIRE(writer_start(&writer, db, asked->queue, false, &keeper) == 0);
    CHECK_INT(writer_finish(writer, &single, NULL), 0);
    CHECK_INT(asked->rounds, 16);
    CHECK_INT(asked->forgotten, 1);
    CHECK(asked->seen[0].waiting > (size_t)16 << 20);
    CHECK_INT(asked->seen[15].waiting, 0);
    queue_free(asked->queue);
}

/* Behind a queue of eight megabytes hardly anything is looked through, below it some times as much
 * as was written. */
TEST(what_waits_is_written_first)
{
    struct asked asked;
    int hurried = 0;
    write_all(&asked, true);
    for (int i = 0; i < asked.rounds; i++) {
        bool far_behind = asked.seen[i].waiting > (size_t)8 << 20;
        hurried += far_behind;
        CHECK_INT(asked.seen[i].rows, far_behind ? 1000 : 10000 + 4 * ROWS);
        CHECK_INT(asked.seen[i].offered, far_behind ? asked.seen[i].waiting : 0);
    }
    CHECK(hurried > 4 && hurried < 14);
}

/* The limit is near: what is due goes, whatever waits. */
TEST(what_waits_does_not_outdo_the_limit)
{
    struct asked asked;
    write_all(&asked, false);
    for (int i = 0; i < asked.rounds; i++)
        CHECK_INT(asked.seen[i].rows, 10000 + 4 * ROWS);
}

static int run_out_of_memory(void *self, int64_t rows)
{
    struct asked *asked = self;
    (void)rows;
    asked->rounds++;
    REQUIRE(db_exec(asked->db, "ROLLBACK") == 0);
    return ERR_NOMEM;
}

static void look_without_memory(void *self, const struct batch *batch)
{
    const struct asked *asked = self;
    (void)batch;
    REQUIRE(db_exec(asked->db, "ROLLBACK") == 0);
}

/* One batch, and a keeper that knows the file; `rounds`: how often it was let work. */
static void write_one(struct keeper *keeper, const char *name, int rounds)
{
    struct asked asked = {0};
    struct writer *writer = NULL;
    bool single;
    keeper->self = &asked;
    REQUIRE(db_create(&asked.db, test_path(name)) == 0);
    REQUIRE(queue_new(&asked.queue, STORE_LIMIT) == 0);
    REQUIRE(queue_push(asked.queue, store_batch(1, 10, true)));
    queue_close(asked.queue);
    REQUIRE(writer_start(&writer, asked.db, asked.queue, false, keeper) == 0);
    CHECK_INT(writer_finish(writer, &single, NULL), ERR_NOMEM);
    CHECK_INT(asked.rounds, rounds);
    CHECK_INT(asked.forgotten, 1);
    queue_free(asked.queue);
}

/* SQLite may undo the whole transaction then: the writer stops, and says why. */
TEST(a_keeper_can_run_out_of_memory)
{
    struct keeper working = keeper_of_test, seeing = keeper_of_test;
    working.work = run_out_of_memory;
    write_one(&working, "working.db", 1);
    seeing.see = look_without_memory;
    write_one(&seeing, "seeing.db", 0);
}

/* Whether the writer comes to be or not. */
TEST(a_keeper_is_forgotten_once)
{
    int failed = 0;
    for (long n = 1;; n++) {
        struct asked asked = {0};
        struct keeper keeper = keeper_of_test;
        struct db *db = NULL;
        struct writer *writer = NULL;
        char name[32];
        bool single;
        snprintf(name, sizeof name, "run%ld.db", n);
        keeper.self = &asked;
        REQUIRE(db_create(&db, test_path(name)) == 0);
        REQUIRE(queue_new(&asked.queue, STORE_LIMIT) == 0);
        queue_close(asked.queue);
        mem_fail_after(n);
        int err = writer_start(&writer, db, asked.queue, false, &keeper);
        mem_fail_after(0);
        if (err == 0)
            CHECK_INT(writer_finish(writer, &single, NULL), 0);
        else
            db_close(db);
        CHECK_INT(asked.forgotten, 1);
        queue_free(asked.queue);
        failed += err != 0;
        if (err == 0)
            break;
    }
    CHECK(failed > 1);
}

TEST_MAIN(TEST_CASE(what_waits_is_written_first), TEST_CASE(what_waits_does_not_outdo_the_limit),
          TEST_CASE(a_keeper_can_run_out_of_memory), TEST_CASE(a_keeper_is_forgotten_once))
