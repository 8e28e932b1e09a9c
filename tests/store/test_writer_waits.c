/*
 * How much the writer lets retention look through at each commit: here is a retention that only
 * writes down what it is asked for.
 */
#include "retention.h"
#include "store.h"
#include "test.h"

enum { ROUNDS = 64, ROWS = 20000 };

struct retention {
    struct queue *queue;
    bool can_wait;
    int rounds;
    struct {
        int64_t rows;     /* that it may look at */
        size_t waiting;   /* bytes in the queue by then */
        uint64_t offered; /* bytes it was asked about; 0: it was not */
    } seen[ROUNDS];
    uint64_t offered;
};

static struct retention *told; /* the one that the test looks at */

int retention_new(struct retention **out, struct db *db, const struct retention_options *options)
{
    (void)db;
    (void)options;
    *out = told;
    return 0;
}

void retention_free(struct retention *retention)
{
    (void)retention;
}

void retention_see(struct retention *retention, const struct batch *batch)
{
    (void)retention;
    (void)batch;
}

bool retention_can_wait(const struct retention *retention, uint64_t bytes)
{
    told->offered = bytes;
    return retention->can_wait;
}

int retention_work(struct retention *retention, int64_t rows)
{
    int at = retention->rounds++;
    REQUIRE(at < ROUNDS);
    retention->seen[at].rows = rows;
    retention->seen[at].waiting = queue_bytes(retention->queue);
    retention->seen[at].offered = retention->offered;
    retention->offered = 0;
    return 0;
}

void retention_rolled_back(struct retention *retention)
{
    (void)retention;
}

bool retention_is_behind(const struct retention *retention)
{
    (void)retention;
    return false;
}

bool retention_is_hollow(struct retention *retention)
{
    (void)retention;
    return false;
}

void retention_tick(struct retention *retention, struct queue *queue)
{
    CHECK(retention->queue == queue);
}

uint64_t retention_most_bytes(const struct retention *retention)
{
    return retention->can_wait;
}

uint64_t retention_log_bytes(const struct retention *retention, uint64_t usual)
{
    (void)retention;
    return usual;
}

/* 16 batches of some 2 MB each wait when the writer begins. */
static void write_all(struct retention *retention, bool can_wait)
{
    struct db *db = NULL;
    struct writer *writer = NULL;
    bool single;
    *retention = (struct retention){.can_wait = can_wait};
    told = retention;
    REQUIRE(db_create(&db, test_path("run.db")) == 0);
    REQUIRE(queue_new(&retention->queue, STORE_LIMIT) == 0);
    for (int i = 0; i < 16; i++)
        REQUIRE(queue_push(retention->queue, store_batch(1 + i * ROWS, ROWS, true)));
    queue_close(retention->queue);
    REQUIRE(writer_start(&writer, db, retention->queue, NULL) == 0);
    CHECK_INT(writer_finish(writer, &single, NULL), 0);
    CHECK_INT(retention->rounds, 16);
    CHECK(retention->seen[0].waiting > (size_t)16 << 20);
    CHECK_INT(retention->seen[15].waiting, 0);
    queue_free(retention->queue);
}

/* Behind a queue of eight megabytes hardly anything is looked through, below it some times as much
 * as was written. */
TEST(what_waits_is_written_first)
{
    struct retention retention;
    int hurried = 0;
    write_all(&retention, true);
    for (int i = 0; i < retention.rounds; i++) {
        bool far_behind = retention.seen[i].waiting > (size_t)8 << 20;
        hurried += far_behind;
        CHECK_INT(retention.seen[i].rows, far_behind ? 1000 : 10000 + 4 * ROWS);
        CHECK_INT(retention.seen[i].offered, far_behind ? retention.seen[i].waiting : 0);
    }
    CHECK(hurried > 4 && hurried < 14);
}

/* The limit is near: what is due goes, whatever waits. */
TEST(what_waits_does_not_outdo_the_limit)
{
    struct retention retention;
    write_all(&retention, false);
    for (int i = 0; i < retention.rounds; i++)
        CHECK_INT(retention.seen[i].rows, 10000 + 4 * ROWS);
}

TEST_MAIN(TEST_CASE(what_waits_is_written_first), TEST_CASE(what_waits_does_not_outdo_the_limit))
