/* The curve against all its events: every bucket of every level, and how many there are. */
#include <stdlib.h>
#include <string.h>

#include "curve.h"
#include "mem.h"
#include "rows.h"
#include "test.h"

struct point {
    int64_t ns, before, after;
};

static struct point *points;
static size_t point_count;

static void add(struct curve *curve, struct batch *batch, int64_t ns, int64_t after)
{
    int64_t before = point_count ? points[point_count - 1].after : 0;
    points[point_count++] = (struct point){ns, before, after};
    curve_add(curve, batch, ns, before, after);
}

static void take(struct curve *curve, struct batch **batch, struct rows *rows)
{
    curve_flush(curve, *batch);
    CHECK(curve_is_valid(curve));
    rows_apply(rows, *batch);
    batch_free(*batch);
    *batch = batch_new(false);
}

/* The bucket that the points from..to make at a level. */
static void check_bucket(const struct rows *rows, int64_t level, size_t from, size_t to)
{
    int64_t low = points[from].before, high = low;
    for (size_t i = from; i < to; i++) {
        low = points[i].after < low ? points[i].after : low;
        high = points[i].after > high ? points[i].after : high;
    }
    const int64_t keys[] = {9, ROW_NULL, level, points[from].ns >> level};
    const struct row *row = rows_find(rows, SCH_CURVE, 4, keys);
    REQUIRE(row != NULL);
    CHECK_INT(row->at[SCH_AT(curve, first)], points[from].before);
    CHECK_INT(row->at[SCH_AT(curve, min)], low);
    CHECK_INT(row->at[SCH_AT(curve, max)], high);
    CHECK_INT(row->at[SCH_AT(curve, last)], points[to - 1].after);
    CHECK_STR(row->text[SCH_AT(curve, quantity)], "allocated");
}

static size_t check_level(const struct rows *rows, int64_t level)
{
    size_t buckets = 0;
    for (size_t from = 0, to = 0; from < point_count; from = to) {
        while (to < point_count && points[to].ns >> level == points[from].ns >> level)
            to++;
        check_bucket(rows, level, from, to);
        buckets++;
    }
    return buckets;
}

/* Each level from the base to the one with a single bucket is there whole, and nothing else. */
static void check_all(const struct rows *rows)
{
    int64_t base = INT64_MAX;
    for (size_t i = 0; i < rows->tables[SCH_CURVE].count; i++)
        if (rows->tables[SCH_CURVE].rows[i].at[SCH_AT(curve, level)] < base)
            base = rows->tables[SCH_CURVE].rows[i].at[SCH_AT(curve, level)];
    size_t total = 0, buckets = 0;
    for (int64_t level = base; buckets != 1; level++) {
        buckets = check_level(rows, level);
        total += buckets;
        if (level == base)
            CHECK(buckets <= CURVE_BUCKETS);
        if (level == base && base > CURVE_FIRST_LEVEL)
            CHECK(buckets > CURVE_BUCKETS / 4);
    }
    CHECK_INT(rows->tables[SCH_CURVE].count, total);
}

static void run(uint64_t seed, size_t events, uint64_t longest_gap)
{
    struct rows rows = {0};
    struct curve *curve = curve_new(9, "allocated");
    struct batch *batch = batch_new(false);
    int64_t ns = (int64_t)(test_random(&seed) % 100000000);
    points = calloc(events, sizeof *points);
    point_count = 0;
    for (size_t i = 0; i < events; i++) {
        uint64_t r = test_random(&seed);
        ns += (int64_t)(r % 7 ? r / 7 % longest_gap : 0);
        add(curve, batch, ns, (int64_t)(r >> 40));
        if (r % 97 == 0)
            take(curve, &batch, &rows);
    }
    take(curve, &batch, &rows);
    check_all(&rows);
    curve_free(curve);
    batch_free(batch);
    rows_clear(&rows);
    free(points);
}

TEST(one_event_is_one_bucket)
{
    run(1, 1, 1);
}

TEST(dense_events_share_buckets)
{
    run(2, 2000, 3000000);
}

TEST(many_buckets_raise_the_base)
{
    run(3, 9000, 6000000);
}

TEST(sparse_events_raise_it_until_they_merge)
{
    run(4, 6000, 40000000000);
}

TEST(the_base_rises_with_one_bucket_too_many)
{
    struct rows rows = {0};
    struct curve *curve = curve_new(9, "allocated");
    struct batch *batch = batch_new(false);
    static struct point all[CURVE_BUCKETS + 1];
    points = all;
    point_count = 0;
    for (int64_t i = 0; i < CURVE_BUCKETS; i++)
        add(curve, batch, i << CURVE_FIRST_LEVEL, i % 50);
    take(curve, &batch, &rows);
    CHECK_INT(check_level(&rows, CURVE_FIRST_LEVEL), CURVE_BUCKETS);
    check_all(&rows);
    add(curve, batch, (int64_t)CURVE_BUCKETS << CURVE_FIRST_LEVEL, 7);
    take(curve, &batch, &rows);
    CHECK_INT(curve->base, 1);
    check_all(&rows);
    curve_free(curve);
    batch_free(batch);
    rows_clear(&rows);
}

TEST(times_of_years_fit)
{
    struct rows rows = {0};
    struct curve *curve = curve_new(9, "allocated");
    struct batch *batch = batch_new(false);
    struct point few[3];
    points = few;
    point_count = 0;
    add(curve, batch, 0, 1);
    add(curve, batch, INT64_MAX / 4, INT64_MAX);
    add(curve, batch, INT64_MAX / 2, 0);
    take(curve, &batch, &rows);
    check_all(&rows);
    curve_free(curve);
    batch_free(batch);
    rows_clear(&rows);
}

TEST(rows_without_memory_are_counted_and_written_again)
{
    struct rows rows = {0};
    struct curve *curve = curve_new(9, "allocated");
    struct batch *batch = batch_new(false);
    struct point few[2];
    points = few;
    point_count = 0;
    mem_fail_after(1);
    add(curve, batch, 5, 1);
    add(curve, batch, 7, 2);
    curve_flush(curve, batch);
    mem_fail_after(0);
    CHECK(curve->rows_lost > 0);
    take(curve, &batch, &rows);
    check_all(&rows);
    curve_free(curve);
    batch_free(batch);
    rows_clear(&rows);
}

TEST_MAIN(TEST_CASE(one_event_is_one_bucket), TEST_CASE(dense_events_share_buckets),
          TEST_CASE(many_buckets_raise_the_base),
          TEST_CASE(sparse_events_raise_it_until_they_merge),
          TEST_CASE(the_base_rises_with_one_bucket_too_many), TEST_CASE(times_of_years_fit),
          TEST_CASE(rows_without_memory_are_counted_and_written_again))
