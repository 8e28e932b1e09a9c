/*
 * Orders of blocks against scans of all of them.
 */
#include "test.h"

#include "group.h"
#include "levers_orders.h"
#include "script.h"

enum { ROUNDS = 3, ROUND = 300, FORWARD_ENDS = 150, STEPS_END = 100 + ROUNDS * ROUND };

/* Forwards and backwards in turns, with blocks of a few sizes that end anywhere. */
static struct db *record(uint64_t *seed)
{
    static struct script script;
    bool used[STEPS_END + 400] = {false};
    script = (struct script){0};
    for (int round = 0; round < ROUNDS; round++) {
        int64_t begin = 100 + round * ROUND;
        script_phase(&script, "forward", 0, begin, begin + FORWARD_ENDS - 1);
        script_phase(&script, "backward", 0, begin + FORWARD_ENDS, begin + ROUND - 10);
    }
    for (int i = 0; i < 250; i++) {
        int64_t seq = 1 + (int64_t)(test_random(seed) % (STEPS_END - 1));
        int64_t end = seq + 1 + (int64_t)(test_random(seed) % 300);
        if (used[seq] || used[end])
            continue;
        used[seq] = used[end] = true;
        script_block(&script, seq, test_random(seed) % 9 ? end : SCRIPT_LIVES,
                     1 + (int64_t)(test_random(seed) % 3), 1);
    }
    return script_record(&script);
}

static bool is_saved(const struct levers_step *step, size_t at, const struct levers_block *like)
{
    const struct levers_block *block = &step->blocks[at];
    const struct levers_phase *backward = levers_backward_of(step, like);
    return backward && levers_backward_of(step, block) == backward && block->asked == like->asked &&
           block->end > backward->begin;
}

static void check_saved(const struct levers_orders *orders, const struct levers_block *like,
                        int64_t seq)
{
    const struct levers_step *step = orders->step;
    const struct levers_block *before = NULL, *behind = NULL;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_saved(step, i, like))
            continue;
        if (block->end < seq && (!before || block->end > before->end))
            before = block;
        if (block->end > seq && (!behind || block->end < behind->end))
            behind = block;
    }
    CHECK(levers_saved_before(orders, like, seq) == before);
    const struct levers_block *found = levers_saved_behind(orders, like, seq);
    CHECK(found == behind || (found && behind && found->end == behind->end));
}

/* Places of what a backward made in the module, of `asked` bytes or of any (0). */
static void check_made(const struct levers_step *step, const struct levers_alike *found,
                       const struct levers_block *like, int64_t asked, int64_t from, int64_t to)
{
    size_t count = 0;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->module != like->module || (asked && block->asked != asked) ||
            block->seq < from || block->seq >= to || block->module == GROUP_NONE ||
            !levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq))
            continue;
        if (count < found->count)
            CHECK_INT(found->first[count].block, i);
        count++;
    }
    CHECK_INT(found->count, count);
}

static void check_run(const struct levers_orders *orders, size_t at)
{
    const struct levers_step *step = orders->step;
    size_t end = at;
    while (end < step->count && step->blocks[end].module == step->blocks[at].module &&
           levers_phase_around(&step->phases, LEVERS_BACKWARD, step->blocks[end].seq))
        end++;
    CHECK_INT(levers_run_end(orders, at), end);
}

TEST(orders_answer_as_scans_do)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        uint64_t random = seed;
        struct db *db = record(&random);
        struct levers_step step;
        struct levers_orders orders;
        struct peak peak;
        REQUIRE(peak_read(db, 1, 1, 0, 0, 0, &peak) == 0);
        REQUIRE(levers_step_read(db, &peak, &step) == 0);
        for (size_t i = 0; i < step.count; i++)
            step.blocks[i].module =
                test_random(&random) % 4 ? (int64_t)(test_random(&random) % 2) : GROUP_NONE;
        REQUIRE(levers_orders_read(&step, &orders) == 0);
        CHECK(levers_orders_is_valid(&orders) && orders.saved_count && orders.made_count);
        for (size_t i = step.older; i < step.count; i++) {
            const struct levers_block *block = &step.blocks[i];
            int64_t from = (int64_t)(test_random(&random) % STEPS_END),
                    to = from + (int64_t)(test_random(&random) % 200);
            check_saved(&orders, block, from);
            struct levers_alike made = levers_made_alike(&orders, block, from, to);
            check_made(&step, &made, block, block->asked, from, to);
            made = levers_made_in(&orders, block->module, from, to);
            check_made(&step, &made, block, 0, from, to);
            if (block->module != GROUP_NONE &&
                levers_phase_around(&step.phases, LEVERS_BACKWARD, block->seq))
                check_run(&orders, i);
        }
        levers_orders_clear(&orders);
        levers_step_clear(&step);
        peak_clear(&peak);
        db_close(db);
    }
}

TEST_MAIN(TEST_CASE(orders_answer_as_scans_do))
