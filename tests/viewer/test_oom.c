#include "test.h"

#include <stdio.h>

#include "oom.h"
#include "db.h"
#include "error.h"
#include "frag_model.h"
#include "mem.h"
#include "recording.h"

#define MIB(n) ((int64_t)(n)*1048576)

static void explain(struct db *db, struct ooms *ooms)
{
    CHECK_INT(oom_read(db, 1, 1, INT64_MIN, INT64_MAX, SIZE_MAX, SIZE_MAX, ooms), 0);
    CHECK(ooms_is_valid(ooms));
}

TEST(an_allocation_that_failed)
{
    struct db *db = recording("frag");
    struct ooms ooms;
    explain(db, &ooms);
    CHECK_INT(ooms.count, 2);
    CHECK_INT(ooms.shown, 2);
    const struct oom *oom = &ooms.failures[0];
    CHECK_INT(oom->seq, 48);
    CHECK_INT(oom->asked, MIB(60));
    CHECK_INT(oom->step, 2);
    CHECK_STR(oom->phase, "forward");
    CHECK_STR(oom->shown, "gather (train.py:55)");
    CHECK_INT(oom->reserved, MIB(176));
    CHECK_INT(oom->total, MIB(256));
    CHECK_INT(oom->verdict, OOM_SCATTERED);
    CHECK_INT(oom->frag.largest, MIB(32));
    CHECK(oom->frag.free_bytes > MIB(60));
    CHECK_INT(oom->frag.heap_count, 2);
    CHECK_INT(oom->frag.sites[0].site, 4);
    oom = &ooms.failures[1];
    CHECK_INT(oom->verdict, OOM_FULL);
    CHECK(oom->name == NULL && oom->shown == NULL);
    ooms_clear(&ooms);
    db_close(db);
}

TEST(each_verdict)
{
    struct db *db = recording("frag");
    static const struct {
        int64_t asked;
        enum oom_verdict verdict;
    } wanted[] = {
        {1, OOM_ELSEWHERE},
        {32 << 20, OOM_ELSEWHERE},
        {(32 << 20) + 1, OOM_SCATTERED},
        {(int64_t)1 << 40, OOM_FULL},
    };
    struct ooms ooms;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        char sql[80];
        snprintf(sql, sizeof sql, "UPDATE oom SET asked = %lld", (long long)wanted[i].asked);
        REQUIRE(db_exec(db, sql) == 0);
        explain(db, &ooms);
        CHECK_INT(ooms.failures[0].verdict, wanted[i].verdict);
        CHECK(oom_verdict_text(ooms.failures[0].verdict)[0] != '\0');
        ooms_clear(&ooms);
    }
    REQUIRE(db_exec(db, "DELETE FROM segment; DELETE FROM mapping") == 0);
    explain(db, &ooms);
    CHECK_INT(ooms.failures[0].verdict, OOM_UNKNOWN);
    ooms_clear(&ooms);
    db_close(db);
}

TEST(which_failures)
{
    struct db *db = recording("frag");
    struct ooms ooms;
    CHECK_INT(oom_read(db, 1, 1, INT64_MIN, INT64_MAX, 1, 1, &ooms), 0);
    CHECK(ooms_is_valid(&ooms));
    CHECK_INT(ooms.count, 2);
    CHECK_INT(ooms.shown, 1);
    ooms_clear(&ooms);
    CHECK_INT(oom_read(db, 1, 1, 0, 1, 9, 9, &ooms), 0);
    CHECK_INT(ooms.count, 0);
    ooms_clear(&ooms);
    CHECK_INT(oom_read(db, 1, 1, 2, INT64_MAX, 9, 9, &ooms), 0);
    CHECK_INT(ooms.count, 2);
    ooms_clear(&ooms);
    CHECK_INT(oom_read(db, 1, 2, INT64_MIN, INT64_MAX, 9, 9, &ooms), 0);
    CHECK_INT(ooms.count, 0);
    ooms_clear(&ooms);
    db_close(db);
}

/* It can only be that of the one device that the process has besides the CPU. */
TEST(a_failure_without_a_device)
{
    struct db *db = recording("frag");
    struct ooms ooms;
    int64_t unplaced;
    REQUIRE(db_exec(db, "UPDATE oom SET device = NULL, allocated = NULL, reserved = NULL") == 0);
    explain(db, &ooms);
    CHECK_INT(ooms.count, 2);
    CHECK_INT(ooms.failures[0].allocated, OOM_NONE);
    CHECK_INT(ooms.failures[0].reserved, OOM_NONE);
    CHECK_INT(ooms.failures[0].frag.reserved, MIB(176)); /* of the segments, all the same */
    ooms_clear(&ooms);
    CHECK_INT(oom_read(db, 1, 2, INT64_MIN, INT64_MAX, 9, 9, &ooms), 0);
    CHECK_INT(ooms.count, 0);
    ooms_clear(&ooms);
    CHECK_INT(oom_count_unplaced(db, 1, &unplaced), 0);
    CHECK_INT(unplaced, 0);
    db_close(db);
}

TEST(a_failure_that_could_be_of_two_devices)
{
    struct db *db = recording("frag");
    struct ooms ooms;
    int64_t unplaced;
    REQUIRE(db_exec(db, "UPDATE oom SET device = NULL WHERE seq = 48;"
                        "UPDATE device SET kind = 'cuda', ordinal = 1 WHERE id = 2") == 0);
    explain(db, &ooms);
    CHECK_INT(ooms.count, 1);
    CHECK_INT(ooms.failures[0].seq, 50);
    ooms_clear(&ooms);
    CHECK_INT(oom_count_unplaced(db, 1, &unplaced), 0);
    CHECK_INT(unplaced, 1);
    CHECK_INT(oom_count_unplaced(db, 2, &unplaced), 0);
    CHECK_INT(unplaced, 0);
    REQUIRE(db_exec(db, "DELETE FROM heap WHERE device = 1;"
                        "UPDATE device SET kind = 'cpu' WHERE id = 2") == 0);
    CHECK_INT(oom_read(db, 1, 2, INT64_MIN, INT64_MAX, 9, 9, &ooms), 0);
    CHECK_INT(ooms.count, 1); /* the CPU, where there is nothing else */
    CHECK_INT(ooms.failures[0].verdict, OOM_UNKNOWN);
    ooms_clear(&ooms);
    db_close(db);
}

TEST(a_failure_between_phases)
{
    struct db *db = recording("frag");
    struct ooms ooms;
    REQUIRE(db_exec(db, "UPDATE oom SET seq = 3 WHERE seq = 48") == 0);
    explain(db, &ooms);
    CHECK(ooms.failures[0].between && !ooms.failures[1].between);
    CHECK_INT(ooms.failures[0].step, OOM_NONE);
    CHECK_INT(ooms.failures[0].frag.causes[FRAG_REST], MIB(176 - 40));
    ooms_clear(&ooms);
    REQUIRE(db_exec(db, "DELETE FROM stretch") == 0);
    explain(db, &ooms);
    CHECK(ooms.failures[0].phase == NULL && !ooms.failures[0].between);
    ooms_clear(&ooms);
    db_close(db);
}

/* Free bytes and the largest hole beside the bitmap's. */
TEST(as_a_bitmap_says)
{
    static struct model model;
    static struct model_cell cells[MODEL_CELLS];
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct model_sums sums;
        struct ooms ooms;
        model_run(&model, seed * 104729, 500);
        struct db *db = model_store(&model, "model");
        REQUIRE(db_exec(db, "INSERT INTO oom SELECT seq, 1, 1, 1, 0, 9216, NULL, NULL, NULL"
                            "  FROM allocation WHERE seq > 100 AND seq % 3 = 0") == 0);
        explain(db, &ooms);
        CHECK(ooms.count > 5);
        for (size_t i = 0; i < ooms.shown; i++) {
            const struct oom *oom = &ooms.failures[i];
            model_fill(&model, oom->seq, cells);
            model_sum(&model, cells, &sums);
            CHECK_INT(oom->frag.free_bytes, sums.free_bytes);
            CHECK_INT(oom->frag.largest, sums.largest);
            CHECK_INT(oom->verdict, sums.free_bytes < 9216 ? OOM_FULL
                                    : sums.largest < 9216  ? OOM_SCATTERED
                                                           : OOM_ELSEWHERE);
        }
        ooms_clear(&ooms);
        db_close(db);
    }
}

TEST(no_memory)
{
    struct db *db = recording("frag");
    long n = 1;
    for (;; n++) {
        struct ooms ooms;
        mem_fail_after(n);
        int err = oom_read(db, 1, 1, INT64_MIN, INT64_MAX, 9, 9, &ooms);
        mem_fail_after(0);
        ooms_clear(&ooms);
        if (err == 0)
            break;
        CHECK_INT(err, ERR_NOMEM);
        REQUIRE(n < 1000);
    }
    CHECK(n > 20);
    db_close(db);
}

TEST_MAIN(TEST_CASE(an_allocation_that_failed), TEST_CASE(each_verdict), TEST_CASE(which_failures),
          TEST_CASE(a_failure_without_a_device), TEST_CASE(a_failure_that_could_be_of_two_devices),
          TEST_CASE(a_failure_between_phases), TEST_CASE(as_a_bitmap_says), TEST_CASE(no_memory))
