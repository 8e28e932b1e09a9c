/*
 * Levers on small recordings: each one where it applies, with its bytes, and where it almost does.
 */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "instant.h"
#include "levers_model.h"
#include "db.h"
#include "error.h"
#include "mem.h"

/* ---- held by the program ---- */

TEST(what_the_program_holds_is_a_lever)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    CHECK_INT(peak.allocated, MIB(780));
    CHECK_INT(peak.step, 1);
    const struct lever *lever = find(&levers, LEVER_HELD);
    REQUIRE(lever != NULL);
    CHECK_INT(lever->bytes, MIB(60));
    CHECK(lever->at_most); /* whether backward needs it is not known */
    CHECK_INT(lever->site, DECODE);
    CHECK_STR(lever->site_text, "decode (model.py:30)");
    CHECK_STR(lever->text, "del the variable that holds the output of decode (model.py:30) before "
                           "loss.backward()");
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

TEST(what_goes_in_backward_is_not_held)
{
    CHECK_INT(worth_of(&(struct model){.released = true}, LEVER_HELD, NULL), -1);
}

/* As the state of a dropout in cuDNN's RNNs: the call that made it makes outputs in each step. */
TEST(what_a_call_made_once_is_its_own)
{
    struct script script = {0};
    train(&script, &(struct model){.released = true, .steps = 4});
    script_block(&script, at(3, BACKWARD) + 3, at(3, BACKWARD) + 4, MIB(80), OTHER); /* the peak */
    script_block(&script, at(0, FORWARD) + 60, at(3, END) + 50, MIB(40), DECODE);
    CHECK_INT(worth(&script, LEVER_HELD, NULL), -1);
    for (int step = 1; step < 4; step++)
        script_block(&script, at(step, FORWARD) + 60, at(step + 1, FORWARD) + 61, MIB(40), DECODE);
    CHECK(worth(&script, LEVER_HELD, NULL) > 0);
}

/* The peak is in forward, where the logits of the step before still live. */
TEST(what_an_earlier_step_left_is_gone_before_this_one)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    script_block(&script, at(1, FORWARD) + 40, at(1, FORWARD) + 45, MIB(400), OTHER);
    CHECK_INT(worth(&script, LEVER_HELD, NULL), 60);
}

/* Once it is gone, the peak is elsewhere. */
TEST(a_lever_is_worth_what_the_next_peak_leaves_of_it)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    script_block(&script, at(1, FORWARD) + 60, at(1, FORWARD) + 65, MIB(90), OTHER);
    CHECK_INT(worth(&script, LEVER_HELD, NULL), 780 - 750);
    script_block(&script, at(1, LOSS) + 60, at(1, LOSS) + 65, MIB(110), OTHER);
    CHECK_INT(worth(&script, LEVER_HELD, NULL), 780 - 770);
    script_block(&script, at(1, OPTIMIZER) + 60, at(1, OPTIMIZER) + 65, MIB(330), OTHER);
    CHECK_INT(worth(&script, LEVER_HELD, NULL), 790 - 770);
    script_block(&script, at(1, OPTIMIZER) + 61, at(1, OPTIMIZER) + 64, MIB(50), OTHER);
    CHECK_INT(worth(&script, LEVER_GRADIENTS_TO_NONE, NULL), -1);
}

TEST(what_came_before_the_steps_bounds_every_lever)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    script_block(&script, 50, 60, MIB(640), OTHER);
    CHECK_INT(worth(&script, LEVER_HELD, NULL), 40);
}

/* Unless only some steps are asked about. */
TEST(what_came_before_bounds_nothing_of_some_steps)
{
    struct script script = {0};
    struct peak peak;
    struct levers levers;
    train(&script, &(struct model){0});
    script_block(&script, 50, 60, MIB(640), OTHER);
    struct db *db = script_record(&script);
    REQUIRE(peak_read(db, 1, 1, 1, 1, 0, &peak) == 0);
    REQUIRE(levers_read(db, &peak, true, &levers) == 0);
    const struct lever *lever = find(&levers, LEVER_HELD);
    CHECK(lever && lever->bytes == MIB(60));
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* Nobody knows what would have gone in the rest of backward: an activation is not held, and the
 * gradients would be back by the end. */
TEST(a_recording_that_ended_in_backward)
{
    struct script script = {0};
    train(&script, &(struct model){.steps = 2});
    script.phase_count -= 1;
    script.phases[script.phase_count - 1].end = SCRIPT_LIVES;
    for (int i = 0; i < script.block_count; i++)
        if (script.blocks[i].end > at(1, BACKWARD) + 4)
            script.blocks[i].end = SCRIPT_LIVES;
    CHECK_INT(worth(&script, LEVER_HELD, NULL), -1);
    CHECK(worth(&script, LEVER_CHECKPOINT, NULL) > 0);
    CHECK(worth(&script, LEVER_FIRST_STEP, NULL) == -1);
}

/* A step that a refused request cut short: what was held after the backward before it, as large and
 * from the same call, is what would have been held here. Nothing else is: not the activations that
 * live on because backward came no further. */
static int64_t held_in_cut(const struct model *model, const char *more, const char **after)
{
    static const char cut[] = "UPDATE phase SET ended = 'process end' WHERE kind = 'backward' AND"
                              " step = 1;";
    static char text[200];
    struct script script = {0};
    struct peak peak;
    int64_t bytes = 0;
    train(&script, model);
    script.phase_count -= 1; /* the optimizer's */
    script.phases[script.phase_count - 1].end = at(1, BACKWARD) + 4;
    for (int i = 0; i < script.block_count; i++)
        if (script.blocks[i].end > at(1, BACKWARD) + 4)
            script.blocks[i].end = SCRIPT_LIVES;
    while (script.blocks[script.block_count - 1].seq > at(1, BACKWARD) + 4)
        script.block_count--;
    struct db *db = script_record(&script);
    REQUIRE(db_exec(db, cut) == 0 && db_exec(db, more) == 0);
    struct levers levers = read_levers(db, &peak);
    CHECK_INT(peak.step, 1);
    for (size_t i = 0; i < levers.count; i++)
        bytes += levers.levers[i].kind == LEVER_HELD ? levers.levers[i].bytes : 0;
    const struct lever *lever = find(&levers, LEVER_HELD);
    snprintf(text, sizeof text, "%s", lever ? lever->text : "");
    *after = strchr(text, ',') ? strchr(text, ',') : "";
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return bytes;
}

TEST(a_step_that_was_cut_short_goes_by_the_one_before)
{
    const struct model two = {.steps = 2}, released = {.steps = 2, .released = true};
    const char *after;
    CHECK_INT(held_in_cut(&two, "", &after), MIB(60));
    CHECK_STR(after, ", as it did in the step before");
    CHECK_INT(held_in_cut(&released, "", &after), 0);
    /* of another size, or the step before was cut short as well: nothing is known */
    CHECK_INT(held_in_cut(&two, "UPDATE allocation SET size = size + 512 WHERE seq = 1148", &after),
              0);
    CHECK_INT(
        held_in_cut(&two, "UPDATE phase SET ended = 'exception' WHERE kind = 'backward'", &after),
        0);
}

/* ---- gradients to None ---- */

TEST(zeroed_gradients_could_be_none)
{
    bool at_most = true;
    CHECK_INT(worth_of(&(struct model){0}, LEVER_GRADIENTS_TO_NONE, &at_most), 100);
    CHECK(!at_most);
}

/* The activations outlive the birth of the new gradients: 660 stay of the 720 that forward has,
 * with the old logits beside the new ones. */
TEST(new_gradients_are_born_where_the_old_ones_were)
{
    const struct model model = {.flight = 20, .activation_end = 40};
    CHECK_INT(worth_of(&model, LEVER_GRADIENTS_TO_NONE, NULL), 720 - 660);
}

TEST(gradients_that_are_none_are_no_lever)
{
    CHECK_INT(worth_of(&(struct model){.none = true}, LEVER_GRADIENTS_TO_NONE, NULL), -1);
}

/* As of the two networks of a GAN: each has an optimizer, whose zero_grad frees its own alone. */
TEST(gradients_of_another_optimizer_are_no_lever)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    CHECK_INT(worth(&script, LEVER_GRADIENTS_TO_NONE, NULL), 100);
    script_block(&script, at(0, BACKWARD) + 45, at(1, ZERO) + 5, MIB(10), OTHER);
    CHECK_INT(worth(&script, LEVER_GRADIENTS_TO_NONE, NULL), -1);
}

TEST(gradients_that_nobody_zeroes_are_no_lever)
{
    CHECK_INT(worth_of(&(struct model){.no_zero_grad = true}, LEVER_GRADIENTS_TO_NONE, NULL), -1);
}

TEST(a_gradient_without_its_like_is_at_most)
{
    bool at_most = false;
    CHECK_INT(worth_of(&(struct model){.other_count = true}, LEVER_GRADIENTS_TO_NONE, &at_most),
              100);
    CHECK(at_most);
}

/* ---- gradient_as_bucket_view ---- */

TEST(gradients_beside_their_buckets_could_be_views)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    script_tagged(&script, 20, SCRIPT_LIVES, MIB(100), BUILD, TAG_BUCKET);
    CHECK_INT(worth(&script, LEVER_BUCKET_VIEW, NULL), 100);
}

TEST(buckets_of_other_sizes_are_no_twins)
{
    for (int mib = 80; mib <= 130; mib += 50) {
        struct script script = {0};
        train(&script, &(struct model){0});
        script_tagged(&script, 20, SCRIPT_LIVES, MIB(mib), BUILD, TAG_BUCKET);
        CHECK_INT(worth(&script, LEVER_BUCKET_VIEW, NULL), -1);
    }
}

TEST(no_buckets_no_views)
{
    CHECK_INT(worth_of(&(struct model){0}, LEVER_BUCKET_VIEW, NULL), -1);
}

/* ---- flatten_parameters ---- */

static int64_t worth_of_packed(int mib, int site, int64_t after)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    for (int step = 0; step < 3; step++)
        script_block(&script, at(step, FORWARD) + 5, at(step, after ? (int)after : BACKWARD + 14),
                     MIB(mib), site);
    return worth(&script, LEVER_FLATTEN_PARAMETERS, NULL);
}

TEST(weights_that_are_packed_again_are_a_lever)
{
    CHECK_INT(worth_of_packed(100, RNN, 0), 100);
    CHECK_INT(worth_of_packed(110, RNN, 0), 110);
}

TEST(what_only_looks_like_packed_weights_is_none)
{
    CHECK_INT(worth_of_packed(100, OTHER, 0), -1);
    CHECK_INT(worth_of_packed(95, RNN, 0), -1);
    CHECK_INT(worth_of_packed(120, RNN, 0), -1);
    CHECK_INT(worth_of_packed(100, RNN, FORWARD + 9), -1);
    CHECK_INT(worth_of_packed(100, RNN, OPTIMIZER + 9), -1);
}

TEST(weights_that_are_one_block_are_flat)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    script_block(&script, 30, SCRIPT_LIVES, MIB(300), BUILD);
    for (int step = 0; step < 3; step++)
        script_block(&script, at(step, FORWARD) + 5, at(step, BACKWARD) + 14, MIB(300), RNN);
    CHECK_INT(worth(&script, LEVER_FLATTEN_PARAMETERS, NULL), -1);
}

/* What goes altogether needs no smaller workspace. */
TEST(packed_weights_are_named_once)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    for (int step = 0; step < 3; step++)
        script_tagged(&script, at(step, FORWARD) + 5, at(step, BACKWARD) + 14, MIB(100), RNN,
                      TAG_WORKSPACE);
    CHECK_INT(worth(&script, LEVER_FLATTEN_PARAMETERS, NULL), 100);
    CHECK_INT(worth(&script, LEVER_WORKSPACE, NULL), -1);
}

/* ---- the rest ---- */

TEST(what_backward_added_is_beside_what_is_as_large)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    script_block(&script, at(1, LOSS) + 1, at(1, BACKWARD) + 11, MIB(60), OTHER);
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    REQUIRE(levers.added_count == 1);
    CHECK_INT(levers.added[0].bytes, MIB(120));
    CHECK_INT(levers.added[0].blocks, 2);
    CHECK_INT(levers.added[0].each, MIB(60));
    CHECK_STR(levers.added[0].like, "decode (model.py:30); other (model.py:70)");
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

TEST(without_steps_there_are_none_of_a_step)
{
    struct script script = {0};
    struct peak peak;
    script_phase(&script, "forward", SCRIPT_OUTSIDE, 100, 300);
    script_block(&script, 110, 400, MIB(100), OTHER);
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    CHECK_INT(levers.state, LEVERS_NO_STEP);
    CHECK_INT(levers.count, 1);
    CHECK(find(&levers, LEVER_NO_GRAD) != NULL); /* which is one of no step */
    CHECK_INT(levers.added_count, 0);
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

TEST(without_memory_there_is_an_error_and_no_leak)
{
    struct script script = {0};
    struct peak peak;
    bool done = false;
    train(&script, &(struct model){0});
    struct db *db = script_record(&script);
    REQUIRE(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 0, &peak) == 0);
    for (long n = 1; n < 2000 && !done; n++) {
        struct levers levers;
        mem_fail_after(n);
        int err = levers_read(db, &peak, false, &levers);
        mem_fail_after(0);
        done = err == 0;
        CHECK(err == 0 || err == ERR_NOMEM);
        levers_clear(&levers);
    }
    CHECK(done);
    peak_clear(&peak);
    db_close(db);
}

/* Of a request that was refused, that moment counts, not what was higher before it. */
TEST(a_refusal_is_lowered_where_it_was)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    script_block(&script, at(1, ZERO) + 1, at(1, ZERO) + 5, MIB(500), OTHER);
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    CHECK_INT(peak.allocated, MIB(960));
    CHECK(!find(&levers, LEVER_CHECKPOINT));
    levers_clear(&levers);
    peak_clear(&peak);

    const struct instant moment = {.seq = at(1, FORWARD) + 49,
                                   .allocated = INSTANT_NONE,
                                   .reserved = INSTANT_NONE,
                                   .phase = PEAK_NONE};
    REQUIRE(peak_read_refusal(db, 1, 1, &moment, 9, &peak) == 0);
    CHECK(peak_is_valid(&peak));
    CHECK(peak.found && peak.refused);
    CHECK_INT(peak.allocated, MIB(720));
    CHECK_INT(peak.step, 1);
    CHECK_STR(peak.phase_path, "forward");
    CHECK_INT(levers_read(db, &peak, true, &levers), 0);
    CHECK(levers_is_valid(&levers));
    const struct lever *lever = find(&levers, LEVER_CHECKPOINT);
    REQUIRE(lever != NULL);
    CHECK_INT(lever->bytes, MIB(200));
    lever = find(&levers, LEVER_HELD);
    REQUIRE(lever != NULL);
    CHECK_INT(lever->bytes, MIB(60));
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* The loss of step 1 asks for as much as its logits have, and is refused: 100 of parameters, 100 of
 * gradients, 200 of states, 200 of activations and logits of 60. */
TEST(a_loss_that_was_refused_can_be_made_in_chunks)
{
    static const char refusal[] =
        "UPDATE string SET text = 'cross_entropy' WHERE text LIKE 'other%';"
        "INSERT INTO oom VALUES(2349, 1, 1, 1, 0, 62914500, NULL, NULL, 8)";
    struct script script = {0};
    struct peak peak;
    struct levers levers;
    train(&script, &(struct model){0});
    struct db *db = script_record(&script);
    const struct instant moment = {.seq = at(1, FORWARD) + 249,
                                   .allocated = INSTANT_NONE,
                                   .reserved = INSTANT_NONE,
                                   .phase = PEAK_NONE};
    REQUIRE(db_exec(db, refusal) == 0);
    REQUIRE(peak_read_refusal(db, 1, 1, &moment, 9, &peak) == 0);
    CHECK_INT(levers_read(db, &peak, true, &levers), 0);
    const struct lever *lever = find(&levers, LEVER_CHUNKED_LOSS);
    REQUIRE(lever != NULL);
    CHECK_INT(lever->bytes, MIB(60) / 8 * 7);
    CHECK(lever->estimated);
    levers_clear(&levers);
    CHECK_INT(db_exec(db, "UPDATE oom SET site = 2"), 0); /* somebody else's */
    CHECK_INT(levers_read(db, &peak, true, &levers), 0);
    CHECK(find(&levers, LEVER_CHUNKED_LOSS) == NULL);
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

TEST_MAIN(TEST_CASE(a_refusal_is_lowered_where_it_was),
          TEST_CASE(a_loss_that_was_refused_can_be_made_in_chunks),
          TEST_CASE(what_the_program_holds_is_a_lever),
          TEST_CASE(what_goes_in_backward_is_not_held), TEST_CASE(what_a_call_made_once_is_its_own),
          TEST_CASE(what_an_earlier_step_left_is_gone_before_this_one),
          TEST_CASE(a_lever_is_worth_what_the_next_peak_leaves_of_it),
          TEST_CASE(what_came_before_the_steps_bounds_every_lever),
          TEST_CASE(what_came_before_bounds_nothing_of_some_steps),
          TEST_CASE(a_recording_that_ended_in_backward),
          TEST_CASE(a_step_that_was_cut_short_goes_by_the_one_before),
          TEST_CASE(zeroed_gradients_could_be_none),
          TEST_CASE(new_gradients_are_born_where_the_old_ones_were),
          TEST_CASE(gradients_that_are_none_are_no_lever),
          TEST_CASE(gradients_of_another_optimizer_are_no_lever),
          TEST_CASE(gradients_that_nobody_zeroes_are_no_lever),
          TEST_CASE(a_gradient_without_its_like_is_at_most),
          TEST_CASE(gradients_beside_their_buckets_could_be_views),
          TEST_CASE(buckets_of_other_sizes_are_no_twins), TEST_CASE(no_buckets_no_views),
          TEST_CASE(weights_that_are_packed_again_are_a_lever),
          TEST_CASE(what_only_looks_like_packed_weights_is_none),
          TEST_CASE(weights_that_are_one_block_are_flat), TEST_CASE(packed_weights_are_named_once),
          TEST_CASE(what_backward_added_is_beside_what_is_as_large),
          TEST_CASE(without_steps_there_are_none_of_a_step),
          TEST_CASE(without_memory_there_is_an_error_and_no_leak))
