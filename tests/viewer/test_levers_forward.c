/*
 * Levers on what forward leaves, on a first step and on a workspace, on small recordings.
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

/* ---- checkpointing ---- */

TEST(a_function_can_be_checkpointed)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, LEVER_CHECKPOINT);
    REQUIRE(lever != NULL);
    CHECK(lever->at_most);
    CHECK_STR(lever->text, "checkpoint encode");
    CHECK_INT(lever->bytes, MIB(200));
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* What is computed again in backward was not kept. */
TEST(checkpoints_that_are_in_force_are_no_lever)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    script_phase(&script, "recompute", 0, at(0, BACKWARD) + 50, at(0, BACKWARD) + 60);
    CHECK_INT(worth(&script, LEVER_CHECKPOINT, NULL), -1);
}

/* Nothing is computed again where there is no backward, and nothing has to be kept for one. */
TEST(without_a_backward_no_grad_is_the_lever)
{
    struct script script = {0};
    struct peak peak;
    for (int step = 0; step < 2; step++) {
        script_phase(&script, "forward", step, at(step, FORWARD), at(step, LOSS) - 1);
        script_block(&script, at(step, FORWARD) + 1, at(step, LOSS) + 2, MIB(100), ENCODE);
        script_block(&script, at(step, FORWARD) + 2, at(step, LOSS) + 1, MIB(50), ENCODE);
    }
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    CHECK(!find(&levers, LEVER_CHECKPOINT));
    const struct lever *lever = find(&levers, LEVER_NO_GRAD);
    REQUIRE(lever != NULL);
    CHECK(lever->at_most);
    CHECK_STR(lever_name(lever->kind), "no_grad");
    CHECK_INT(lever->bytes, MIB(50)); /* the first one has to be there when the second one comes */
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    script = (struct script){0};
    train(&script, &(struct model){0});
    CHECK_INT(worth(&script, LEVER_NO_GRAD, NULL), -1);
}

/* Backward needs the output of log_softmax itself, and del frees nothing before it. Of what only
 * cross_entropy reads, it needs nothing. */
TEST(del_frees_what_autograd_did_not_save)
{
    static const struct {
        const char *made_by, *read_by;
        bool found, at_most;
    } cases[] = {{"log_softmax", "nll_loss", false, false},
                 {"LogSoftmax.forward", "?", false, false},
                 {"op_tanh", "?", false, false},
                 {"gelu", "?", true, true},
                 {"expand", "mse_loss", true, true},
                 {"linear", "cross_entropy", true, false},
                 {"linear", "op_log_softmax", true, false},
                 {"relu", "cross_entropy", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct script script = {0};
        struct peak peak;
        char sql[200];
        train(&script, &(struct model){0});
        for (int step = 0; step < 3; step++)
            script_block(&script, at(step, LOSS) + 1, at(step, LOSS) + 2, MIB(60), OTHER);
        struct db *db = script_record(&script);
        snprintf(sql, sizeof sql,
                 "UPDATE string SET text = '%s' WHERE text LIKE 'decode%%';"
                 "UPDATE string SET text = '%s' WHERE text LIKE 'other%%'",
                 cases[i].made_by, cases[i].read_by);
        CHECK_INT(db_exec(db, sql), 0);
        struct levers levers = read_levers(db, &peak);
        const struct lever *lever = find(&levers, LEVER_HELD);
        CHECK_INT(lever != NULL, cases[i].found);
        CHECK_INT(lever && lever->at_most, cases[i].at_most);
        CHECK(levers.tried > 0);
        levers_clear(&levers);
        peak_clear(&peak);
        db_close(db);
    }
}

/* What autograd saved goes with its gradient, the first of its size in backward; where another of
 * that size stands between, whose gradient that is, it is only known that backward ends. */
TEST(a_saved_output_goes_in_backward)
{
    for (int between = 0; between < 2; between++) {
        struct script script = {0};
        struct peak peak;
        train(&script, &(struct model){0});
        for (int step = 0; step < 3; step++) {
            script_block(&script, at(step, BACKWARD) + 15, at(step, BACKWARD) + 16, MIB(400),
                         BACKWARD_40);
            if (between)
                script_block(&script, at(step, LOSS) + 1, at(step, LOSS) + 2, MIB(60), OTHER);
        }
        struct db *db = script_record(&script);
        CHECK_INT(db_exec(db, "UPDATE string SET text = 'log_softmax' WHERE text LIKE 'decode%'"),
                  0);
        struct levers levers = read_levers(db, &peak);
        const struct lever *lever = find(&levers, LEVER_HELD);
        CHECK_INT(lever != NULL, !between);
        CHECK_INT(lever ? lever->bytes : 0, between ? 0 : MIB(60));
        CHECK(!lever || (!lever->at_most && strstr(lever->text, "before loss.backward()")));
        levers_clear(&levers);
        peak_clear(&peak);
        db_close(db);
    }
}

/* With phases inside forward, those are what is named. */
TEST(a_phase_can_be_checkpointed)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    for (int step = 0; step < 3; step++) {
        int id = script_phase(&script, "user", step, at(step, FORWARD) + 1, at(step, FORWARD) + 1);
        script.phases[id - 1].parent = 5 * step + 3;
        script.phases[id - 1].name = "encoder";
    }
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, LEVER_CHECKPOINT);
    REQUIRE(lever != NULL);
    CHECK_STR(lever->text, "checkpoint encoder");
    CHECK_INT(lever->bytes, MIB(100));
    CHECK_INT(lever->site, LEVERS_NONE);
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* Layers of a model are alike. */
TEST(equal_phases_can_each_be_checkpointed)
{
    static const char *const names[] = {"layer0", "layer1"};
    struct script script = {0};
    struct peak peak;
    size_t found = 0;
    train(&script, &(struct model){0});
    for (int step = 0; step < 3; step++)
        for (int i = 0; i < 2; i++) {
            int64_t seq = at(step, FORWARD) + 1 + i;
            int id = script_phase(&script, "user", step, seq, seq);
            script.phases[id - 1].parent = 5 * step + 3;
            script.phases[id - 1].name = names[i];
        }
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    for (size_t i = 0; i < levers.count; i++)
        if (levers.levers[i].kind == LEVER_CHECKPOINT) {
            CHECK_INT(levers.levers[i].bytes, MIB(100));
            CHECK(strstr(levers.levers[i].text, names[found++ % 2]) != NULL);
        }
    CHECK_INT(found, 2);
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* ---- a first step that others do not need ---- */

static int64_t worth_of_warm_up(int steps, int64_t seq)
{
    struct script script = {0};
    train(&script, &(struct model){.steps = steps});
    script_block(&script, seq, seq + 5, MIB(900), WARM_UP);
    return worth(&script, LEVER_FIRST_STEP, NULL);
}

TEST(a_first_step_that_needs_more)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    script_block(&script, at(0, FORWARD) + 40, at(0, FORWARD) + 45, MIB(900), WARM_UP);
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, LEVER_FIRST_STEP);
    REQUIRE(lever != NULL);
    CHECK_INT(lever->bytes, MIB(100 + 200 + 900 - 780));
    CHECK_INT(lever->site, WARM_UP);
    CHECK(strstr(lever->text, "later steps") != NULL);
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* A bucket that another call made anew is no transient, although it is the larger group. */
TEST(what_only_moved_did_not_come_once)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    script_tagged(&script, 20, at(1, FORWARD) + 10, MIB(950), OTHER, TAG_BUCKET);
    script_tagged(&script, at(1, FORWARD) + 11, SCRIPT_LIVES, MIB(950), RNN, TAG_BUCKET);
    script_block(&script, at(0, FORWARD) + 40, at(0, FORWARD) + 45, MIB(900), WARM_UP);
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, LEVER_FIRST_STEP);
    REQUIRE(lever != NULL);
    CHECK_INT(lever->site, WARM_UP);
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

TEST(what_comes_before_the_first_step)
{
    CHECK_INT(worth_of_warm_up(3, 50), 1000 - 780);
}

TEST(one_step_says_nothing_of_others)
{
    CHECK_INT(worth_of_warm_up(1, at(0, FORWARD) + 40), -1);
    struct script script = {0};
    train(&script, &(struct model){.steps = 2});
    script_block(&script, at(0, FORWARD) + 40, at(0, FORWARD) + 45, MIB(900), WARM_UP);
    script.phases[script.phase_count - 1].end = SCRIPT_LIVES;
    CHECK_INT(worth(&script, LEVER_FIRST_STEP, NULL), -1);
}

TEST(a_peak_in_a_later_step_is_no_transient)
{
    CHECK_INT(worth_of_warm_up(3, at(1, FORWARD) + 40), -1);
    CHECK_INT(worth_of(&(struct model){0}, LEVER_FIRST_STEP, NULL), -1);
}

/* ---- an evaluation ---- */

/* A forward behind the last of three steps. */
static void evaluate(const char *kind, bool expected)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    script_phase(&script, kind, SCRIPT_OUTSIDE, at(3, FORWARD), at(3, FORWARD) + 50);
    script_block(&script, at(3, FORWARD) + 40, at(3, FORWARD) + 45, MIB(900), WARM_UP);
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, LEVER_EVALUATION);
    CHECK_INT(lever != NULL, expected);
    CHECK(!find(&levers, LEVER_FIRST_STEP));
    if (lever) {
        CHECK_INT(lever->bytes, peak.allocated - MIB(780));
        CHECK_INT(lever->site, WARM_UP);
        CHECK(lever->at_most);
    }
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* As a trainer tries its evaluation before it begins: in the first step, or in each, as a teacher
 * does whose answers are learned from. */
static int64_t worth_of_evaluation_in(int steps)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    for (int step = 0; step < steps; step++) {
        int64_t begin = step ? at(step, FORWARD) - 20 : 60;
        script_phase(&script, "eval", step, begin, begin + 19);
        script_block(&script, begin + 5, begin + 10, MIB(900), WARM_UP);
    }
    return worth(&script, LEVER_EVALUATION, NULL);
}

TEST(an_evaluation_that_needs_more)
{
    CHECK_INT(worth_of_evaluation_in(1), 1000 - 780);
    CHECK_INT(worth_of_evaluation_in(3), -1);
    evaluate("forward_no_grad", true);
    evaluate("eval", true);
    evaluate("forward", false);
}

/* ---- a workspace ---- */

static int64_t worth_of_workspace(int mib, int offset, int tag, bool *at_most)
{
    struct script script = {0};
    train(&script, &(struct model){0});
    for (int step = 0; step < 3; step++)
        script_tagged(&script, at(step, offset), at(step, offset) + 1, MIB(mib), OTHER, tag);
    return worth(&script, LEVER_WORKSPACE, at_most);
}

TEST(a_large_workspace_is_a_lever)
{
    bool at_most = false;
    CHECK_INT(worth_of_workspace(100, BACKWARD + 3, TAG_WORKSPACE, &at_most), 100);
    CHECK(at_most);
    CHECK_INT(worth_of_workspace(300, FORWARD + 60, 0, &at_most), 160 + 20);
}

TEST(a_small_one_and_gradients_on_their_way_are_none)
{
    CHECK_INT(worth_of_workspace(30, BACKWARD + 3, TAG_WORKSPACE, NULL), -1);
    CHECK_INT(worth_of_workspace(300, BACKWARD + 3, 0, NULL), -1);
    CHECK_INT(worth_of(&(struct model){0}, LEVER_WORKSPACE, NULL), -1);
}

TEST_MAIN(TEST_CASE(checkpoints_that_are_in_force_are_no_lever),
          TEST_CASE(a_saved_output_goes_in_backward),
          TEST_CASE(without_a_backward_no_grad_is_the_lever),
          TEST_CASE(del_frees_what_autograd_did_not_save),
          TEST_CASE(a_function_can_be_checkpointed), TEST_CASE(a_phase_can_be_checkpointed),
          TEST_CASE(equal_phases_can_each_be_checkpointed),
          TEST_CASE(what_only_moved_did_not_come_once), TEST_CASE(a_first_step_that_needs_more),
          TEST_CASE(what_comes_before_the_first_step), TEST_CASE(one_step_says_nothing_of_others),
          TEST_CASE(a_peak_in_a_later_step_is_no_transient),
          TEST_CASE(an_evaluation_that_needs_more), TEST_CASE(a_large_workspace_is_a_lever),
          TEST_CASE(a_small_one_and_gradients_on_their_way_are_none))
