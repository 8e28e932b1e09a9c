/* Batches: what is put is what is there, and a failed put leaves nothing. */
#include <string.h>

#include "batch.h"
#include "mem.h"
#include "test.h"

TEST(a_new_batch_is_empty)
{
    struct batch *batch = batch_new();
    REQUIRE(batch != NULL);
    CHECK(batch_is_empty(batch));
    CHECK(batch_bytes(batch) >= sizeof *batch);
    REQUIRE(batch_add_end(batch, 1, 2, 3));
    CHECK(!batch_is_empty(batch));
    CHECK(batch_bytes(batch) > sizeof *batch);
    batch_free(batch);
    batch_free(NULL);
}

TEST(cells_keep_their_kind_and_value)
{
    struct batch *batch = batch_new();
    REQUIRE(batch_put(batch, SCH_META, "ss", "key", NULL));
    REQUIRE(
        batch_put(batch, SCH_DEVICE, "isn0n", (int64_t)7, "gpu \xc3\xa9", (int64_t)-1, BATCH_NULL));
    REQUIRE(batch->fact_count == 2 && batch->cell_count == 7);
    CHECK_INT(batch->facts[0].statement, SCH_META);
    CHECK_INT(batch->facts[1].first_cell, 2);
    CHECK_INT(batch->cells[0].kind, CELL_TEXT);
    CHECK_INT(batch->cells[0].bytes, 3);
    CHECK_STR(batch->text + batch->cells[0].value, "key");
    CHECK_INT(batch->cells[1].kind, CELL_NULL);
    CHECK_INT(batch->cells[2].value, 7);
    CHECK_STR(batch->text + batch->cells[3].value, "gpu \xc3\xa9");
    CHECK_INT(batch->cells[4].kind, CELL_INT);
    CHECK_INT(batch->cells[4].value, -1);
    CHECK_INT(batch->cells[5].kind, CELL_NULL);
    CHECK_INT(batch->cells[6].kind, CELL_NULL);
    batch_free(batch);
}

TEST(the_smallest_integer_is_null_only_for_n)
{
    struct batch *batch = batch_new();
    REQUIRE(batch_put(batch, SCH_KEYFRAME, "in", INT64_MIN, INT64_MIN));
    CHECK_INT(batch->cells[0].kind, CELL_INT);
    CHECK_INT(batch->cells[1].kind, CELL_NULL);
    batch_free(batch);
}

TEST(a_put_without_memory_leaves_nothing)
{
    char text[300];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (long n = 1;; n++) {
        struct batch *batch = batch_new();
        REQUIRE(batch_put(batch, SCH_STRING, "is", (int64_t)1, "first"));
        size_t cells = batch->cell_count, count = batch->text_count;
        mem_fail_after(n);
        bool done = true;
        int put = 0;
        while (done && put < 40) {
            done = batch_put(batch, SCH_ANOMALY, "iiisns", (int64_t)1, (int64_t)2, (int64_t)3, text,
                             BATCH_NULL, text);
            put += done;
        }
        mem_fail_after(0);
        CHECK_INT(batch->fact_count, 1 + put);
        CHECK_INT(batch->cell_count, cells + 6 * (size_t)put);
        CHECK_INT(batch->text_count, count + 2 * sizeof text * (size_t)put);
        batch_free(batch);
        if (done)
            break;
        REQUIRE(n < 100);
    }
}

TEST(rows_of_allocations_end_and_tags)
{
    struct batch *batch = batch_new();
    for (int64_t i = 0; i < 100; i++) {
        struct batch_alloc *row = batch_add_alloc(batch);
        REQUIRE(row != NULL);
        row->seq = i;
        REQUIRE(batch_add_end(batch, i, 2 * i, 3 * i));
        REQUIRE(batch_add_late_tag(batch, i, 4 * i));
    }
    for (int64_t i = 0; i < 100; i++) {
        CHECK_INT(batch->allocs[i].seq, i);
        CHECK_INT(batch->ends[i].life_ns, 2 * i);
        CHECK_INT(batch->ends[i].free_seq, 3 * i);
        CHECK_INT(batch->late_tags[i].tag, 4 * i);
    }
    mem_fail_after(1);
    while (batch->alloc_count < batch->alloc_cap)
        CHECK(batch_add_alloc(batch) != NULL);
    CHECK(batch_add_alloc(batch) == NULL);
    mem_fail_after(0);
    batch_free(batch);
}

TEST_MAIN(TEST_CASE(a_new_batch_is_empty), TEST_CASE(cells_keep_their_kind_and_value),
          TEST_CASE(the_smallest_integer_is_null_only_for_n),
          TEST_CASE(a_put_without_memory_leaves_nothing),
          TEST_CASE(rows_of_allocations_end_and_tags))
