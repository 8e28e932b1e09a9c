/*
 * The step of a peak against an account that takes no short cuts: the level at every event, summed
 * up over all blocks as each of them would live.
 */
#include "test.h"

#include <stdlib.h>

#include "levers_births.h"
#include "levers_step.h"
#include "db.h"
#include "script.h"

enum { BEGIN = 100, LAST = 500 };

static void random_blocks(struct script *script, uint64_t *seed)
{
    bool used[LAST + 400] = {false};
    script_phase(script, "forward", 0, BEGIN, LAST - 1);
    script_phase(script, "backward", 1, LAST, LAST + 99);
    for (int i = 0; i < 90; i++) {
        int64_t seq = 1 + (int64_t)(test_random(seed) % (LAST - 1));
        int64_t end = seq + 1 + (int64_t)(test_random(seed) % 300);
        if (used[seq] || used[end])
            continue;
        used[seq] = used[end] = true;
        script_block(script, seq, test_random(seed) % 5 ? end : SCRIPT_LIVES,
                     1 + (int64_t)(test_random(seed) % 1000), 1 + (int)(test_random(seed) % 9));
    }
}

static void random_changes(const struct levers_step *step, struct levers_edit *edit, uint64_t *seed)
{
    for (size_t i = 0; i < step->count; i++) {
        int64_t from = (int64_t)(test_random(seed) % 700), to = from + 1 + (int64_t)(from % 90);
        switch (test_random(seed) % 6) {
        case 0:
            REQUIRE(levers_cut(edit, i, from, LEVERS_NEVER));
            break;
        case 1:
            REQUIRE(levers_cut(edit, i, INT64_MIN, to));
            break;
        case 2:
            REQUIRE(levers_cut(edit, i, from, to));
            break;
        case 3:
            REQUIRE(levers_lengthen(edit, i, to));
            break;
        default:
            break;
        }
    }
}

static bool lives(const struct levers_step *step, const struct levers_edit *edit, size_t block,
                  int64_t seq)
{
    const struct levers_block *one = &step->blocks[block];
    bool alive = one->seq <= seq && seq < one->end;
    for (size_t i = 0; i < edit->count; i++) {
        const struct levers_change *change = &edit->changes[i];
        if (change->block != block)
            continue;
        if (change->how == LEVERS_LONGER)
            alive = alive || (seq >= one->end && seq < change->to);
        else
            alive = alive && !(seq >= change->from && seq < change->to);
    }
    return alive;
}

/* As the step begins, and after each of its births and ends. */
static int64_t slowly(const struct levers_step *step, const struct levers_edit *edit)
{
    int64_t highest = 0;
    for (size_t at = 0; at <= step->event_count; at++) {
        int64_t seq = at ? step->events[at - 1].seq : step->begin, now = 0;
        for (size_t i = 0; i < step->count; i++) {
            bool before = at || i < step->older;
            now += before && lives(step, edit, i, seq) ? step->blocks[i].size : 0;
        }
        highest = now > highest ? now : highest;
    }
    return highest;
}

TEST(changes_are_those_of_a_plain_account)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct script script = {0};
        struct peak peak;
        struct levers_step step;
        struct levers_edit edit = {0};
        uint64_t random = seed;
        int64_t highest;
        random_blocks(&script, &random);
        struct db *db = script_record(&script);
        REQUIRE(peak_read(db, 1, 1, 0, 0, 0, &peak) == 0);
        REQUIRE(levers_step_read(db, &peak, &step) == 0);
        CHECK(levers_step_is_valid(&step));
        CHECK_INT(step.highest, peak.allocated);
        CHECK(levers_highest(&step, &edit, &highest, NULL) == 0 && highest == step.highest);
        random_changes(&step, &edit, &random);
        REQUIRE(levers_highest(&step, &edit, &highest, NULL) == 0);
        CHECK_INT(highest, slowly(&step, &edit));
        levers_edit_clear(&edit);
        levers_step_clear(&step);
        peak_clear(&peak);
        db_close(db);
    }
}

/* A moment's bytes come before the event, which ends what a change is about together with the block
 * itself. */
TEST(a_spike_comes_before_its_event)
{
    struct levers_event events[] = {{1, 10}, {5, -10}};
    const struct levers_step step = {
        .end = 9, .moment = LEVERS_NEVER, .events = events, .event_count = 2};
    struct levers_edit edit = {0};
    int64_t highest, at;
    REQUIRE(levers_extra(&edit, -4, 1, 5) && levers_spike(&edit, 1, 5));
    REQUIRE(levers_highest(&step, &edit, &highest, &at) == 0);
    CHECK_INT(highest, 10 - 4 + 1);
    CHECK_INT(at, 5);
    levers_edit_clear(&edit);
}

/* What begins in a keyframe is what a scan finds. */
TEST(a_keyframe_changes_nothing)
{
    for (uint64_t seed = 50; seed <= 60; seed++) {
        struct script script = {0};
        struct peak peak;
        struct levers_step without, with;
        uint64_t random = seed;
        random_blocks(&script, &random);
        struct db *db = script_record(&script);
        REQUIRE(peak_read(db, 1, 1, 0, 0, 0, &peak) == 0);
        REQUIRE(levers_step_read(db, &peak, &without) == 0);
        REQUIRE(db_exec(db, "INSERT INTO keyframe SELECT 60, seq FROM allocation WHERE seq <= 60"
                            " AND (free_seq < 0 OR free_seq > 60)") == 0);
        REQUIRE(levers_step_read(db, &peak, &with) == 0);
        CHECK(levers_step_is_valid(&with));
        REQUIRE(with.count == without.count && with.count > 0);
        for (size_t i = 0; i < with.count; i++)
            CHECK_INT(with.blocks[i].seq, without.blocks[i].seq);
        CHECK_INT(with.base, without.base);
        levers_step_clear(&without);
        levers_step_clear(&with);
        peak_clear(&peak);
        db_close(db);
    }
}

TEST(what_is_not_a_step_is_noticed)
{
    struct script script = {0};
    struct peak peak;
    struct levers_step step;
    uint64_t random = 7;
    random_blocks(&script, &random);
    struct db *db = script_record(&script);
    REQUIRE(peak_read(db, 1, 1, 0, 0, 0, &peak) == 0);
    REQUIRE(levers_step_read(db, &peak, &step) == 0);
    step.base++;
    CHECK(!levers_step_is_valid(&step));
    step.base--;
    step.highest++;
    CHECK(!levers_step_is_valid(&step));
    step.highest--;
    step.older++;
    CHECK(!levers_step_is_valid(&step));
    step.older--;
    CHECK(levers_step_is_valid(&step));
    levers_step_clear(&step);
    peak_clear(&peak);
    db_close(db);
}

TEST(births_are_found_by_what_they_asked_for)
{
    struct script script = {0};
    struct peak peak;
    struct levers_births births;
    const struct levers_birth *first;
    script_phase(&script, "forward", 0, 100, 300);
    for (int i = 0; i < 12; i++)
        script_block(&script, 110 + i, 400, 1000 * (1 + i % 3), 1 + i % 2);
    struct db *db = script_record(&script);
    REQUIRE(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 0, &peak) == 0);
    REQUIRE(levers_births_read(db, &peak, 111, 300, &births) == 0);
    CHECK_INT(births.count, 11);
    CHECK_INT(levers_births_like(&births, 1000, 1, &first), 1);
    CHECK_INT(first->seq, 116);
    CHECK_INT(levers_births_like(&births, 2000, 2, &first), 2);
    CHECK_INT(first->seq, 111);
    CHECK_INT(levers_births_like(&births, 2000, 3, &first), 0);
    CHECK_INT(levers_births_like(&births, 5000, 1, &first), 0);
    levers_births_clear(&births);
    peak_clear(&peak);
    db_close(db);
}

TEST_MAIN(TEST_CASE(changes_are_those_of_a_plain_account),
          TEST_CASE(a_spike_comes_before_its_event), TEST_CASE(a_keyframe_changes_nothing),
          TEST_CASE(what_is_not_a_step_is_noticed),
          TEST_CASE(births_are_found_by_what_they_asked_for))
