/* How checkpoints are written: of whose module, how often it is called, and where its list is. */
#include "test.h"

#include <string.h>

#include "levers_trial.h"

static const struct levers_phase forwards[2];
static struct levers_call calls[2];

/* A class that is called `count` times, in one forward. */
static struct levers_unit unit_of(const char *name, size_t count)
{
    static char names[4][32];
    static size_t next;
    char *copy = names[next++ % 4];
    strncpy(copy, name, sizeof names[0] - 1);
    calls[0].forward = calls[1].forward = &forwards[0];
    calls[1].instance = 1;
    return (struct levers_unit){.name = copy, .calls = calls, .count = count};
}

static const char *text_of(const struct levers_trial *trial, bool normalizes,
                           void (*put)(const struct levers_trial *, bool, struct buf *))
{
    static struct buf text;
    buf_clear(&text);
    put(trial, normalizes, &text);
    return buf_string(&text);
}

static void put_all(const struct levers_trial *trial, bool normalizes, struct buf *text)
{
    levers_put_trial(LEVERS_OWN_LOOP, trial, normalizes, text);
}

static void put_brief(const struct levers_trial *trial, bool normalizes, struct buf *text)
{
    (void)normalizes;
    levers_put_brief(trial, text);
}

static bool begins(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static bool ends(const char *text, const char *end)
{
    size_t bytes = strlen(text), tail = strlen(end);
    return bytes >= tail && strcmp(text + bytes - tail, end) == 0;
}

TEST(each_of_one_that_is_called_again_in_a_forward)
{
    struct levers_unit unit = unit_of("Block", 2);
    const struct levers_trial trial = {.units = {&unit}, .count = 1};
    CHECK_STR(text_of(&trial, false, put_brief), "checkpoint each Block");
    calls[1].instance = 0; /* twice the same one */
    CHECK_STR(text_of(&trial, false, put_brief), "checkpoint Block");
    calls[1].instance = 1;
    calls[1].forward = &forwards[1]; /* once in each of two */
    CHECK_STR(text_of(&trial, false, put_brief), "checkpoint Block");
    unit.again = 1; /* more of them are checkpointed already */
    CHECK_STR(text_of(&trial, false, put_brief), "checkpoint each Block");
    CHECK(begins(text_of(&trial, false, put_all),
                 "checkpoint each Block that is not checkpointed yet: "));
}

TEST(several_are_one_after_the_other)
{
    const struct levers_unit block = unit_of("Block", 2), head = unit_of("Head", 1);
    const struct levers_trial trial = {.units = {&block, &head}, .count = 2};
    CHECK_STR(text_of(&trial, false, put_brief), "checkpoint each Block and Head");
    CHECK(begins(text_of(&trial, false, put_all), "checkpoint each Block and Head: "));
}

TEST(of_the_program_it_is_said_where_it_is_called)
{
    char instances[] = "h[0-3]", called[] = "m.py:5";
    struct levers_unit unit = unit_of("Block", 2);
    const struct levers_trial trial = {.units = {&unit}, .count = 1};
    unit.instances = instances;
    unit.called = called;
    CHECK_STR(text_of(&trial, false, put_all),
              "checkpoint each Block (h[0-3]), called in m.py:5: torch.utils.checkpoint.checkpoint("
              "m, ..., use_reentrant=False) in place of m(...)");
    unit.of_library = true; /* it has a switch for all of them */
    const char *text = text_of(&trial, false, put_all);
    CHECK(begins(text, "checkpoint each Block (h[0-3]): model.gradient_checkpointing_enable("));
    CHECK(!strstr(text, "m.py"));
}

TEST(a_batch_norm_updates_twice)
{
    static const char twice[] = " twice in each step";
    const struct levers_unit unit = unit_of("Block", 2);
    const struct levers_trial trial = {.units = {&unit}, .count = 1};
    CHECK(ends(text_of(&trial, true, put_all), twice));
    CHECK(ends(text_of(&trial, true, levers_put_half), twice));
    CHECK(!ends(text_of(&trial, false, put_all), twice));
    CHECK(!ends(text_of(&trial, false, levers_put_half), twice));
}

/* Every second one of what `instances` names; a library's list of layers can be gone through. */
static const char *half_of(const char *instances, bool of_library)
{
    static char copy[40];
    static struct levers_unit unit;
    const struct levers_trial trial = {.units = {&unit}, .count = 1};
    unit = unit_of("Block", 2);
    unit.of_library = of_library;
    strncpy(copy, instances, sizeof copy - 1);
    unit.instances = *instances ? copy : NULL;
    return text_of(&trial, false, levers_put_half);
}

TEST(every_second_one_of_a_list)
{
    static const char listed[] = ": for m in model.encoder.h[1::2]: m.gradient_checkpointing = "
                                 "False",
                      others[] = ": m.gradient_checkpointing = False in every second layer m";
    CHECK(begins(half_of("", true),
                 "checkpoint every second Block, half of the recomputation: after model."));
    CHECK(ends(half_of("encoder.h[0-11]", true), listed));
    CHECK(ends(half_of("", true), others));
    CHECK(ends(half_of("h", true), others));
    CHECK(ends(half_of("h[0-3].block", true), others));
    CHECK(ends(half_of("h[0", true), others));
    CHECK(ends(half_of("[0-11]", true), others)); /* the model is the list */
    CHECK(ends(half_of("encoder.h[0-11]", false),
               "torch.utils.checkpoint.checkpoint(m, ..., use_reentrant=False) in [::2] of "
               "encoder.h[0-11]"));
    CHECK(ends(half_of("", false), " in [::2]"));
}

TEST_MAIN(TEST_CASE(each_of_one_that_is_called_again_in_a_forward),
          TEST_CASE(several_are_one_after_the_other),
          TEST_CASE(of_the_program_it_is_said_where_it_is_called),
          TEST_CASE(a_batch_norm_updates_twice), TEST_CASE(every_second_one_of_a_list))
