#include "store.h"

#include <stdio.h>
#include <time.h>

#include "clock.h"
#include "fixture.h"
#include "test.h"

struct batch *store_batch(int64_t first, int64_t count, bool commit)
{
    struct batch *batch = batch_new(false);
    REQUIRE(batch != NULL);
    for (int64_t seq = first; seq < first + count; seq++) {
        struct batch_alloc *row = batch_add_alloc(batch);
        REQUIRE(row != NULL);
        *row = (struct batch_alloc){
            .seq = seq,
            .address = 0x7f0000000000u + (uint64_t)seq * 512,
            .size = 512 + seq,
            .requested = BATCH_NOT_KNOWN,
            .alloc_ns = seq * 1000,
            .life_ns = 500,
            .free_seq = seq + 1,
            .segment = BATCH_NOT_KNOWN,
            .heap = 1,
            .site = BATCH_NOT_KNOWN,
            .tag = BATCH_NOT_KNOWN,
            .module = BATCH_NOT_KNOWN,
        };
    }
    batch->commit = commit;
    batch->made_ns = clock_now_ns();
    return batch;
}

struct writer *store_start(const char *path, struct queue **queue)
{
    struct db *db = NULL;
    struct writer *writer = NULL;
    REQUIRE(db_create(&db, path) == 0);
    REQUIRE(queue_new(queue, STORE_LIMIT) == 0);
    REQUIRE(writer_start(&writer, db, *queue, false, NULL) == 0);
    return writer;
}

void store_wait(const char *path, const char *sql, int64_t want)
{
    const struct timespec pause = {.tv_nsec = 5 * (long)NS_PER_MS};
    struct db *db = NULL;
    int64_t got = -1;
    REQUIRE(db_open(&db, path) == 0);
    for (uint64_t until = clock_now_ns() + 600 * NS_PER_S; clock_now_ns() < until;) {
        got = fixture_int(db, sql);
        if (got >= want)
            break;
        nanosleep(&pause, NULL);
    }
    db_close(db);
    if (got < want)
        CHECK_INT(got, want);
    REQUIRE(got >= want);
}

int64_t store_check_prefix(struct db *db)
{
    int64_t count = fixture_int(db, "SELECT count(*) FROM allocation");
    CHECK_INT(fixture_int(db, "SELECT coalesce(max(seq), 0) FROM allocation"), count);
    CHECK_INT(fixture_int(db, "SELECT count(*) FROM allocation WHERE size <> 512 + seq"), 0);
    return count;
}
