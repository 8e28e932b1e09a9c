/* The how-manieth of its name in its step: counted for good, and on top of that as a guess. */
#include "batch.h"
#include "label.h"
#include "phase_ordinal.h"
#include "test.h"

static int64_t take(struct phase_ordinals *ordinals, int64_t step, uint32_t name)
{
    int64_t ordinal = -1;
    CHECK(ordinal_take(ordinals, step, name, &ordinal));
    return ordinal;
}

static int64_t guess(struct phase_ordinals *ordinals, const struct phase_ordinals *base,
                     int64_t step, uint32_t name)
{
    int64_t ordinal = -1;
    CHECK(ordinal_guess(ordinals, base, step, name, &ordinal));
    return ordinal;
}

TEST(counts_in_the_step)
{
    struct phase_ordinals ordinals = {.step = BATCH_NULL};
    CHECK_INT(take(&ordinals, BATCH_NULL, 7), 0);
    CHECK_INT(take(&ordinals, 0, 7), 0);
    CHECK_INT(take(&ordinals, 0, 8), 0);
    CHECK_INT(take(&ordinals, 0, 7), 1);
    CHECK_INT(take(&ordinals, 1, 7), 0);
    CHECK_INT(take(&ordinals, BATCH_NULL, 7), 1); /* evaluation between two steps */
    CHECK_INT(take(&ordinals, 1, 7), 1);
    ordinal_clear(&ordinals);
    CHECK_INT(ordinals.step, BATCH_NULL);
    CHECK_INT(take(&ordinals, 1, 7), 0);
    ordinal_clear(&ordinals);
}

TEST(a_guess_goes_on_from_what_was_counted)
{
    struct phase_ordinals base = {.step = BATCH_NULL}, guesses = {.step = BATCH_NULL};
    take(&base, BATCH_NULL, 7);
    take(&base, 3, 7);
    take(&base, 3, 7);
    guesses.step = base.step;
    CHECK_INT(guess(&guesses, &base, 3, 7), 2);
    CHECK_INT(guess(&guesses, &base, 3, 7), 3);
    CHECK_INT(guess(&guesses, &base, 3, 8), 0);
    CHECK_INT(guess(&guesses, &base, BATCH_NULL, 7), 1);
    CHECK_INT(guess(&guesses, &base, 4, 7), 0);
    CHECK_INT(guess(&guesses, &base, 4, 7), 1);
    /* what was counted is as it was */
    CHECK_INT(take(&base, 3, 7), 2);
    CHECK_INT(take(&base, BATCH_NULL, 7), 1);
    ordinal_clear(&guesses);
    ordinal_clear(&base);
}

/* Databases have these words: they are a promise. */
TEST(words)
{
    static const char *const want[LABEL_COUNT][2] = {
        [LABEL_OTHER] = {"other", "other"},
        [LABEL_ZERO_GRAD] = {"zero_grad", "zero_grad"},
        [LABEL_FORWARD] = {"forward", "forward"},
        [LABEL_CHECKPOINTED] = {"forward", "checkpointed forward"},
        [LABEL_LOSS] = {"loss", "loss"},
        [LABEL_BACKWARD] = {"backward", "backward"},
        [LABEL_OPTIMIZER] = {"optimizer", "optimizer"},
        [LABEL_EVAL] = {"eval", "eval"},
        [LABEL_NO_GRAD] = {"forward_no_grad", "forward (no grad)"},
        [LABEL_RECOMPUTE] = {"recompute", "recompute"},
        [LABEL_AFTER_BACKWARD] = {"after_backward", "after backward"},
    };
    for (enum label label = LABEL_OTHER; label < LABEL_COUNT; label++) {
        CHECK_STR(label_kind(label), want[label][0]);
        CHECK_STR(label_name(label), want[label][1]);
    }
}

TEST_MAIN(TEST_CASE(counts_in_the_step), TEST_CASE(a_guess_goes_on_from_what_was_counted),
          TEST_CASE(words))
