/* Which rows of `phases` stand for others: the repeated ones, whole steps at once. */
#include <string.h>

#include "group.h"
#include "mem.h"
#include "phases_fold.h"
#include "test.h"

#define MIB (INT64_C(1) << 20)

static void add(struct phases_rows *all, int64_t step, const char *name, int64_t bytes)
{
    struct phases_row row = {.step = step,
                             .name = mem_copy(name, strlen(name)),
                             .allocated = bytes,
                             .max_allocated = 9 * MIB,
                             .reserved = GROUP_NONE,
                             .max_reserved = GROUP_NONE,
                             .phase_peak = bytes,
                             .ns = 1000};
    REQUIRE(phases_rows_add(all, &row));
}

static void add_step(struct phases_rows *all, int64_t step, int64_t bytes)
{
    add(all, step, "forward", bytes);
    add(all, step, "backward", bytes + MIB);
    add(all, step, "optimizer", MIB);
}

static void expect(const struct phases_rows *all, size_t first, size_t length, size_t times)
{
    struct phases_fold fold = phases_fold_at(all, first);
    CHECK(fold.length == length);
    CHECK(fold.times == times);
}

TEST(batches_of_an_evaluation_are_one_row)
{
    struct phases_rows all = {0};
    for (int i = 0; i < 5; i++) {
        add(&all, GROUP_NONE, "eval", 5 * MIB);
        add(&all, GROUP_NONE, "other", 3 * MIB);
    }
    expect(&all, 0, 2, 4);
    expect(&all, 1, 2, 3); /* "other, eval", and the last "other" alone */
    phases_rows_clear(&all);
}

TEST(steps_are_folded_from_their_first_row_on)
{
    struct phases_rows all = {0};
    for (int step = 0; step < 6; step++)
        add_step(&all, step, 4 * MIB);
    expect(&all, 0, 3, 5);
    expect(&all, 1, 1, 0); /* in the middle of one */
    expect(&all, 3, 3, 4);
    phases_rows_clear(&all);
}

TEST(micro_batches_are_folded_inside_of_a_step)
{
    struct phases_rows all = {0};
    add(&all, 7, "zero_grad", MIB);
    for (int i = 0; i < 4; i++) {
        add(&all, 7, "forward", 4 * MIB);
        add(&all, 7, "backward", 5 * MIB);
    }
    expect(&all, 0, 1, 0);
    expect(&all, 1, 2, 3);
    phases_rows_clear(&all);
}

/* Two of a step's four rows repeat in the next one, too: no fold begins in a step and ends in
 * another. */
TEST(a_fold_does_not_leave_its_step)
{
    struct phases_rows all = {0};
    for (int step = 0; step < 3; step++) {
        add(&all, step, "forward", 4 * MIB);
        add(&all, step, "backward", 5 * MIB);
        add(&all, step, "forward", 4 * MIB);
        add(&all, step, "backward", 5 * MIB);
    }
    expect(&all, 0, 4, 2); /* steps, and not six pairs */
    expect(&all, 2, 1, 0);
    phases_rows_clear(&all);
}

TEST(another_size_is_no_repetition_unless_it_prints_alike)
{
    struct phases_rows all = {0};
    for (int step = 0; step < 4; step++)
        add_step(&all, step, 4 * MIB + step * MIB);
    expect(&all, 0, 1, 0);
    phases_rows_clear(&all);
    for (int step = 0; step < 4; step++)
        add_step(&all, step, 4 * MIB + step);
    expect(&all, 0, 3, 3);
    phases_rows_clear(&all);
}

TEST(once_more_stays_as_it_is)
{
    struct phases_rows all = {0};
    add_step(&all, 0, 4 * MIB);
    add_step(&all, 1, 4 * MIB);
    expect(&all, 0, 1, 0);
    phases_rows_clear(&all);
}

/* Ranks: a size that is printed otherwise is another one, and so are a step, a name and a row more.
 */
TEST(lists_that_look_alike_say_how_far_apart_they_are)
{
    struct phases_rows one = {0}, same = {0}, near = {0}, other = {0}, later = {0}, named = {0};
    int64_t apart = -1;
    add_step(&one, 0, 4096 * MIB);
    add_step(&same, 0, 4096 * MIB);
    add_step(&near, 0, 4096 * MIB + 1000);
    add_step(&other, 0, 4200 * MIB);
    add_step(&later, 1, 4096 * MIB);
    add(&named, 0, "forward", 4096 * MIB);
    CHECK(phases_rows_alike(&one, &same, &apart));
    CHECK_INT(apart, 0);
    CHECK(phases_rows_alike(&one, &near, &apart));
    CHECK_INT(apart, 1000);
    CHECK(phases_rows_alike(&near, &one, &apart));
    CHECK_INT(apart, 1000);
    CHECK(!phases_rows_alike(&one, &other, &apart));
    CHECK(!phases_rows_alike(&one, &later, &apart));
    CHECK(!phases_rows_alike(&one, &named, &apart));
    one.rows[1].reserved = 0; /* known of one alone */
    CHECK(!phases_rows_alike(&one, &same, &apart));
    phases_rows_clear(&one);
    phases_rows_clear(&same);
    phases_rows_clear(&near);
    phases_rows_clear(&other);
    phases_rows_clear(&later);
    phases_rows_clear(&named);
}

TEST_MAIN(TEST_CASE(batches_of_an_evaluation_are_one_row),
          TEST_CASE(steps_are_folded_from_their_first_row_on),
          TEST_CASE(micro_batches_are_folded_inside_of_a_step),
          TEST_CASE(a_fold_does_not_leave_its_step),
          TEST_CASE(another_size_is_no_repetition_unless_it_prints_alike),
          TEST_CASE(once_more_stays_as_it_is),
          TEST_CASE(lists_that_look_alike_say_how_far_apart_they_are))
