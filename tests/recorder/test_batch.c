/* Batches: what is put is what is there, and a failed put leaves nothing. */
#include <string.h>

#include "batch.h"
#include "mem.h"
#include "test.h"

TEST(a_new_batch_is_empty)
{
    struct batch *batch = batch_new(false);
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
    struct batch *batch = batch_new(false);
    struct row_device device = {
        .id = 7, .kind = "gpu \xc3\xa9", .ordinal = -1, .total_bytes = row_opt(0)};
    REQUIRE(batch_put_meta(batch, &(struct row_meta){.key = "key"}));
    REQUIRE(batch_put_device(batch, &device));
    REQUIRE(batch->fact_count == 2 && batch->cell_count == 7);
    CHECK_INT(batch->facts[0].statement, SCH_META);
    CHECK_INT(batch->facts[1].statement, SCH_DEVICE);
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
    CHECK_INT(batch->cells[6].kind, CELL_INT);
    CHECK_INT(batch->cells[6].value, 0);
    batch_free(batch);
}

/* The last cell of an OOM. */
static const struct batch_cell *site_cell(struct batch *batch, struct row_opt site)
{
    REQUIRE(batch_put_oom(batch, &(struct row_oom){.site = site}));
    return &batch->cells[batch->facts[batch->fact_count - 1].first_cell + SCH_AT(oom, site)];
}

TEST(what_is_not_known_is_null)
{
    struct batch *batch = batch_new(false);
    CHECK_INT(site_cell(batch, (struct row_opt){0})->kind, CELL_NULL);
    CHECK_INT(site_cell(batch, row_opt(ROW_UNKNOWN))->kind, CELL_NULL);
    CHECK_INT(site_cell(batch, row_opt_if(false, 5))->kind, CELL_NULL);
    CHECK_INT(site_cell(batch, row_id(0))->kind, CELL_NULL);
    CHECK_INT(site_cell(batch, row_id(UINT32_MAX))->value, UINT32_MAX);
    CHECK_INT(site_cell(batch, row_opt(0))->kind, CELL_INT);
    REQUIRE(batch_put_keyframe(batch, &(struct row_keyframe){.seq = INT64_MIN}));
    CHECK_INT(batch->cells[batch->cell_count - SCH_CELLS(keyframe)].kind, CELL_INT);
    CHECK_INT(batch->cells[batch->cell_count - SCH_CELLS(keyframe)].value, INT64_MIN);
    batch_free(batch);
}

TEST(any_is_a_text_or_a_number)
{
    struct batch *batch = batch_new(false);
    REQUIRE(batch_put_meta(batch, &(struct row_meta){.key = "a", .value.text = "7"}));
    REQUIRE(batch_put_meta(batch, &(struct row_meta){.key = "b", .value.number = row_opt(7)}));
    CHECK_INT(batch->cells[1].kind, CELL_TEXT);
    CHECK_STR(batch->text + batch->cells[1].value, "7");
    CHECK_INT(batch->cells[3].kind, CELL_INT);
    CHECK_INT(batch->cells[3].value, 7);
    batch_free(batch);
}

TEST(a_put_without_memory_leaves_nothing)
{
    char text[300];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (long n = 1;; n++) {
        struct batch *batch = batch_new(false);
        REQUIRE(batch_put_string(batch, &(struct row_string){.id = 1, .text = "first"}));
        size_t cells = batch->cell_count, count = batch->text_count;
        mem_fail_after(n);
        bool done = true;
        int put = 0;
        while (done && put < 40) {
            done = batch_put_anomaly(batch, &(struct row_anomaly){.kind = text, .detail = text});
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
    struct batch *batch = batch_new(false);
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
          TEST_CASE(what_is_not_known_is_null), TEST_CASE(any_is_a_text_or_a_number),
          TEST_CASE(a_put_without_memory_leaves_nothing),
          TEST_CASE(rows_of_allocations_end_and_tags))
