/*
 * Ranks beside each other: the spread of a figure, and phases of several processes, step by step.
 */
#include "skew.h"

#include <stdio.h>
#include <stdlib.h>

#include "buf.h"
#include "test.h"

TEST(of_equal_ones_the_first_rank)
{
    struct skew_value values[] = {{30, 0}, {10, 1}, {30, 2}, {20, 3}};
    struct skew_spread spread = skew_spread_of(values, 4);
    CHECK_INT(spread.most.value, 30);
    CHECK_INT((int64_t)spread.most.rank, 0);
    CHECK_INT(spread.median.value, 20); /* the lower one in the middle */
    CHECK_INT((int64_t)spread.median.rank, 3);
    CHECK_INT((int64_t)spread.least.rank, 1);
    CHECK_INT(skew_excess(&spread), 10);
    struct skew_value one = {7, 5};
    spread = skew_spread_of(&one, 1);
    CHECK_INT((int64_t)spread.most.rank, 5);
    CHECK_INT((int64_t)spread.least.rank, 5);
}

enum { RANKS = 3, STEPS = 4, PHASES = 2 };

static int64_t peak_of(int rank, int step, int phase)
{
    return (rank * 7919 + step * 104729 + phase * 1299709) % 1000;
}

/* Rank 1 lacks step 2, and has a phase alone. */
static struct db *make(void)
{
    struct db *db;
    struct buf sql = {0};
    int id = 0;
    REQUIRE(db_create(&db, test_path("ranks.db")) == 0);
    for (int rank = 0; rank < RANKS; rank++)
        for (int step = 0; step < STEPS; step++)
            for (int phase = 0; phase < PHASES + (rank == 1); phase++) {
                if (rank == 1 && step == 2)
                    continue;
                int64_t peak = peak_of(rank, step, phase);
                id++;
                buf_print(&sql,
                          "INSERT INTO phase(id, process, ordinal, kind, name, step, begin_seq,"
                          " end_seq, begin_ns, end_ns, scope) VALUES(%d, %d, 0, 'user', 'p%d', %d,"
                          " %d, %d, %d, %d, 'process');"
                          "INSERT INTO phase_device(phase, device, begin_allocated, allocated,"
                          " max_allocated, peak_allocated, allocs, frees, alloc_bytes)"
                          " VALUES(%d, 1, 0, %lld, 0, %lld, 0, 0, 0);",
                          id, rank + 1, phase, step, id, id, id * 100, id * 100 + 10 + rank, id,
                          (long long)peak / 2, (long long)peak);
            }
    REQUIRE(db_exec(db, buf_string(&sql)) == 0);
    buf_clear(&sql);
    return db;
}

struct seen {
    int rows, last;
};

static const struct skew_wish all = {INT64_MIN, INT64_MAX, NULL}, some = {1, 2, NULL},
                              one = {INT64_MIN, INT64_MAX, "p1"};

static int take(void *self, const struct skew_row *row)
{
    struct seen *seen = self;
    int phase = row->name[1] - '0', order = (int)row->step * PHASES + phase;
    int64_t most = -1, least = 1000;
    CHECK(skew_is_valid(row, RANKS));
    CHECK_INT((int64_t)row->count, row->step == 2 ? 2 : 3);
    for (int rank = 0; rank < RANKS; rank++) {
        int64_t peak = peak_of(rank, (int)row->step, phase);
        if (rank == 1 && row->step == 2)
            continue;
        most = peak > most ? peak : most;
        least = peak < least ? peak : least;
    }
    CHECK_INT(row->spreads[SKEW_PEAK].most.value, most);
    CHECK_INT(row->spreads[SKEW_PEAK].least.value, least);
    CHECK_INT(row->spreads[SKEW_END].most.value, most / 2);
    CHECK_INT(row->spreads[SKEW_TIME].most.value, 12);
    CHECK_INT((int64_t)row->spreads[SKEW_TIME].most.rank, 2);
    CHECK(order > seen->last);
    seen->last = order;
    seen->rows++;
    return 0;
}

TEST(phases_of_all_ranks_step_by_step)
{
    struct db *db = make();
    const struct skew_rank ranks[RANKS] = {{1, 1}, {2, 1}, {3, 1}};
    struct seen seen = {0, -1};
    CHECK_INT(skew_read(db, ranks, RANKS, &all, take, &seen), 0);
    CHECK_INT(seen.rows, STEPS * PHASES); /* the phase of one rank alone is not compared */
    seen = (struct seen){0, -1};
    CHECK_INT(skew_read(db, ranks, RANKS, &some, take, &seen), 0);
    CHECK_INT(seen.rows, 2 * PHASES);
    seen = (struct seen){0, -1};
    CHECK_INT(skew_read(db, ranks, RANKS, &one, take, &seen), 0);
    CHECK_INT(seen.rows, STEPS);
    db_close(db);
}

static int refuse(void *self, const struct skew_row *row)
{
    (void)row;
    ++*(int *)self;
    return -7;
}

TEST(who_takes_may_end_it)
{
    struct db *db = make();
    const struct skew_rank ranks[RANKS] = {{1, 1}, {2, 1}, {3, 1}};
    int calls = 0;
    CHECK_INT(skew_read(db, ranks, RANKS, &all, refuse, &calls), -7);
    CHECK_INT(calls, 1);
    db_close(db);
}

TEST_MAIN(TEST_CASE(of_equal_ones_the_first_rank), TEST_CASE(phases_of_all_ranks_step_by_step),
          TEST_CASE(who_takes_may_end_it))
