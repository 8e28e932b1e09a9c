/* The highest level with changes, against a sum over all blocks at each event. */
#include "test.h"

#include "levers_hand.h"
#include "mem.h"

enum { BLOCKS = 24, CHANGES = 12 };

/* ---- a sum over all blocks ---- */

/* What is looked at: the level behind an event, or the moment as it comes, which its own changes
 * precede. */
struct instant {
    int64_t seq;
    bool comes;
};

static bool is_there(struct instant at, int64_t from, int64_t to)
{
    return at.comes ? from < at.seq && at.seq <= to : from <= at.seq && at.seq < to;
}

/* A change that begins at an event is there as the event comes; one that ends with a block goes
 * with it. */
static bool is_changed(struct instant at, int64_t from, int64_t to, bool with_block)
{
    return from <= at.seq && (at.seq < to || (at.comes && with_block && at.seq == to));
}

static int64_t part_of(const struct levers_edit *edit, size_t block, int64_t size)
{
    for (size_t i = 0; i < edit->count; i++)
        if (edit->changes[i].how == LEVERS_PART && edit->changes[i].block == block)
            size = size * edit->changes[i].bytes / 1000;
    return size;
}

static int64_t changed_by(const struct levers_step *step, const struct levers_edit *edit,
                          const struct levers_change *change, struct instant at)
{
    const bool own = change->how != LEVERS_EXTRA && change->how != LEVERS_SPIKE;
    const struct levers_block *block = own ? &step->blocks[change->block] : NULL;
    const int64_t size = own ? part_of(edit, change->block, block->size) : 0;
    switch (change->how) {
    case LEVERS_CUT:
        return is_changed(at, change->from > block->seq ? change->from : block->seq,
                          change->to < block->end ? change->to : block->end, false)
                   ? -size
                   : 0;
    case LEVERS_LONGER:
        return is_changed(at, block->end, change->to, false) ? size : 0;
    case LEVERS_PART:
        return is_changed(at, block->seq, block->end, true) ? size - block->size : 0;
    case LEVERS_EXTRA:
        return is_changed(at, change->from, change->to, change->bytes < 0) ? change->bytes : 0;
    default:
        return 0;
    }
}

static int64_t level_at(const struct levers_step *step, const struct levers_edit *edit,
                        struct instant at, size_t blocks)
{
    int64_t level = 0;
    for (size_t i = 0; i < blocks; i++)
        if (is_there(at, step->blocks[i].seq, step->blocks[i].end))
            level += step->blocks[i].size;
    for (size_t i = 0; i < edit->count; i++)
        level += changed_by(step, edit, &edit->changes[i], at);
    return level;
}

/* A spike before the first event or behind the last is never looked at. */
static int64_t highest_of(const struct levers_step *step, const struct levers_edit *edit)
{
    int64_t highest = level_at(step, edit, (struct instant){step->begin, false}, step->older);
    const int64_t last = step->event_count ? step->events[step->event_count - 1].seq : step->begin;
    for (size_t i = 0; i < step->event_count; i++) {
        int64_t level =
            level_at(step, edit, (struct instant){step->events[i].seq, false}, step->count);
        highest = level > highest ? level : highest;
    }
    for (size_t i = 0; i < edit->count; i++) {
        const struct levers_change *spike = &edit->changes[i];
        if (spike->how != LEVERS_SPIKE || spike->from <= step->begin || spike->from > last)
            continue;
        int64_t level =
            level_at(step, edit, (struct instant){spike->from, true}, step->count) + spike->bytes;
        highest = level > highest ? level : highest;
    }
    return highest;
}

/* ---- random steps ---- */

static void make_step(struct levers_step *step, uint64_t *seed)
{
    struct hand_block blocks[BLOCKS + 1] = {{0}};
    bool used[HAND_END + 200] = {false};
    int seq = HAND_FORWARD - 8;
    for (int i = 0; i < BLOCKS; i++) {
        do
            seq += 1 + (int)(test_random(seed) % 6);
        while (used[seq]);
        used[seq] = true;
        int end = seq + 1 + (int)(test_random(seed) % 60);
        while (end <= HAND_FORWARD || used[end])
            end++;
        used[end] = true;
        blocks[i] = (struct hand_block){seq, end, 1 + (int)(test_random(seed) % 9), 0, 0};
    }
    hand_step(blocks, step);
    hand_events(step);
}

/* Each block is cut once, lengthened once and taken in part once at most: levers_unite sees to
 * that. */
static void add_change(const struct levers_step *step, struct levers_edit *edit, uint64_t *seed)
{
    const size_t at = test_random(seed) % step->count;
    const struct levers_block *block = &step->blocks[at];
    const enum levers_how how = (enum levers_how)(test_random(seed) % 5);
    int64_t from = HAND_FORWARD - 3 + (int64_t)(test_random(seed) % 100);
    const int64_t to = from + (int64_t)(test_random(seed) % 30);
    const int64_t bytes = (int64_t)(test_random(seed) % 5000) - 1000;
    for (size_t i = 0; i < edit->count; i++)
        if (edit->changes[i].how == how && edit->changes[i].block == at)
            return;
    switch (how) {
    case LEVERS_CUT:
        REQUIRE(levers_cut(edit, at, test_random(seed) % 4 ? from : INT64_MIN,
                           test_random(seed) % 4 ? to : LEVERS_NEVER));
        break;
    case LEVERS_LONGER:
        REQUIRE(levers_lengthen(edit, at, block->end - 3 + (int64_t)(test_random(seed) % 30)));
        break;
    case LEVERS_PART:
        REQUIRE(levers_part(edit, at, (int64_t)(test_random(seed) % 1001)));
        break;
    case LEVERS_EXTRA:
        from = test_random(seed) % 2 ? block->seq : from;
        REQUIRE(levers_extra(edit, bytes, from, test_random(seed) % 2 ? block->end : to));
        break;
    case LEVERS_SPIKE: /* where something else begins or ends, most likely */
        REQUIRE(levers_spike(edit, bytes, test_random(seed) % 2 ? from : block->end));
        break;
    }
}

TEST(the_highest_equals_a_sum_at_each_event)
{
    uint64_t seed = 3;
    for (int round = 0; round < 2000; round++) {
        struct levers_step step;
        struct levers_edit edit = {0};
        int64_t highest = 0;
        make_step(&step, &seed);
        for (uint64_t i = test_random(&seed) % CHANGES; i > 0; i--)
            add_change(&step, &edit, &seed);
        REQUIRE(levers_highest(&step, &edit, &highest, NULL) == 0);
        CHECK_INT(highest, highest_of(&step, &edit));
        levers_edit_clear(&edit);
        levers_step_clear(&step);
    }
}

/* A request that was refused is a moment of its own: what lives as it comes, before its own event,
 * counts, and nothing that is there for a moment only. */
TEST(the_moment_of_a_refusal_is_the_level)
{
    uint64_t seed = 4;
    for (int round = 0; round < 1000; round++) {
        struct levers_step step;
        struct levers_edit edit = {0};
        int64_t highest = 0, at = 0;
        make_step(&step, &seed);
        step.moment = step.events[test_random(&seed) % step.event_count].seq;
        for (uint64_t i = test_random(&seed) % CHANGES; i > 0; i--)
            add_change(&step, &edit, &seed);
        REQUIRE(levers_highest(&step, &edit, &highest, &at) == 0);
        const struct instant before = {step.moment - 1, false};
        CHECK_INT(highest, level_at(&step, &edit, before, step.count));
        CHECK_INT(at, step.moment);
        levers_edit_clear(&edit);
        levers_step_clear(&step);
    }
}

/* ---- one by one ---- */

static const struct hand_block two[] = {{50, 200, 10, 0, 0}, {120, 150, 30, 0, 0}, {0}};

static int64_t with(const struct levers_edit *edit, int64_t *at)
{
    struct levers_step step;
    int64_t highest = 0;
    hand_step(two, &step);
    hand_events(&step);
    REQUIRE(levers_highest(&step, edit, &highest, at) == 0);
    levers_step_clear(&step);
    return highest;
}

TEST(the_first_of_the_highest_is_named)
{
    struct levers_edit edit = {0};
    int64_t at = 0;
    CHECK_INT(with(&edit, &at), KIB(40));
    CHECK_INT(at, 120);
    REQUIRE(levers_extra(&edit, KIB(30), 150, 160)); /* as high once more */
    CHECK_INT(with(&edit, &at), KIB(40));
    CHECK_INT(at, 120);
    REQUIRE(levers_extra(&edit, 1, 150, 160));
    CHECK_INT(with(&edit, &at), KIB(40) + 1);
    CHECK_INT(at, 150);
    levers_edit_clear(&edit);
}

/* What begins with the window is there from its beginning on. */
TEST(the_first_level_has_all_that_is_changed_before)
{
    struct levers_edit edit = {0};
    int64_t at = 0;
    REQUIRE(levers_cut(&edit, 1, 0, LEVERS_NEVER) && levers_cut(&edit, 0, HAND_FORWARD, 200));
    CHECK_INT(with(&edit, &at), 0);
    CHECK_INT(at, HAND_FORWARD);
    REQUIRE(levers_extra(&edit, 1, INT64_MIN, 0));
    CHECK_INT(with(&edit, NULL), 0);
    levers_edit_clear(&edit);
}

/* What has no bytes, or lasts for no time, is no change: nothing is kept of it. */
TEST(no_change_is_none)
{
    struct levers_edit edit = {0};
    REQUIRE(levers_cut(&edit, 0, 5, 5) && levers_cut(&edit, 0, 6, 5));
    REQUIRE(levers_extra(&edit, 1, 5, 5) && levers_extra(&edit, 1, 6, 5));
    REQUIRE(levers_extra(&edit, 0, 5, 9));
    REQUIRE(levers_spike(&edit, 0, 5) && levers_spike(&edit, -1, 5));
    CHECK_INT(edit.count, 0);
    levers_edit_clear(&edit);
}

TEST(without_memory_there_is_no_level)
{
    struct levers_step step;
    struct levers_edit edit = {0};
    int64_t highest = 7;
    int err = -1;
    hand_step(two, &step);
    hand_events(&step);
    REQUIRE(levers_part(&edit, 1, 500) && levers_extra(&edit, 5, 190, 195) &&
            levers_extra(&edit, 5, 130, 140));
    for (long n = 1; err < 0 && n < 20; n++) {
        mem_fail_after(n);
        err = levers_highest(&step, &edit, &highest, NULL);
        mem_fail_after(0);
        CHECK(err == 0 || highest == 7);
    }
    CHECK_INT(err, 0);
    CHECK_INT(highest, KIB(25));
    levers_edit_clear(&edit);
    levers_step_clear(&step);
}

TEST_MAIN(TEST_CASE(the_highest_equals_a_sum_at_each_event),
          TEST_CASE(the_moment_of_a_refusal_is_the_level),
          TEST_CASE(the_first_of_the_highest_is_named),
          TEST_CASE(the_first_level_has_all_that_is_changed_before), TEST_CASE(no_change_is_none),
          TEST_CASE(without_memory_there_is_no_level))
