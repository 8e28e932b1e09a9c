/*
 * Levers on forwards that keep something for a backward which does not come.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "db.h"
#include "levers.h"
#include "levers_model.h"
#include "script.h"
#include "script_sites.h"

enum { CALL = 5000, LAYERS = 8 };

/* 50 MiB of parameters, and three steps with activations of 100 each. */
static void train_small(struct script *script)
{
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    for (int step = 0; step < 3; step++) {
        script_phase(script, "forward", step, at(step, 0), at(step, 99));
        script_phase(script, "backward", step, at(step, 100), at(step, 199));
        script_phase(script, "optimizer", step, at(step, 200), at(step, 299));
        script_block(script, at(step, 10), at(step, 150), MIB(100), ENCODE);
    }
}

/* Eight layers leave 100 MiB each and the last one 10, which is the output; all go when that goes,
 * the last layer first. */
static void call_model(struct script *script, const char *kind, int step, int64_t begin)
{
    script_phase(script, kind, step, begin, begin + 99);
    for (int i = 0; i < LAYERS; i++)
        script_block(script, begin + 10 * i + 1, begin + 150 - i, MIB(100), ENCODE);
    script_block(script, begin + 90, begin + 160, MIB(10), DECODE);
}

static char last_text[200];

/* MiB; -1: it is not there. */
static int64_t no_grad(const struct script *script, const char *sql, bool *estimated)
{
    struct db *db = script_record(script);
    struct peak peak;
    REQUIRE(db_exec(db, sql) == 0);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, LEVER_NO_GRAD);
    int64_t bytes = lever ? lever->bytes : -MIB(1);
    if (estimated)
        *estimated = lever && lever->estimated;
    snprintf(last_text, sizeof last_text, "%s", lever ? lever->text : "");
    CHECK(!lever || (!lever->changes && !lever->at_most));
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return bytes / MIB(1);
}

/* A layer's output is there until what is made of it is made: three at once. */
TEST(an_evaluation_keeps_nothing_under_no_grad)
{
    struct script script = {0};
    bool estimated;
    train_small(&script);
    call_model(&script, "eval", SCRIPT_OUTSIDE, CALL);
    CHECK_INT(no_grad(&script, "", &estimated), 50 + 810 - (50 + 300));
    CHECK(estimated);
    CHECK(strstr(last_text, "around the evaluation") != NULL);
}

TEST(a_training_step_is_the_next_peak)
{
    struct script script = {0};
    bool estimated;
    train_small(&script);
    call_model(&script, "eval", SCRIPT_OUTSIDE, CALL);
    script_block(&script, at(1, 120), at(1, 130), MIB(400), OTHER);
    CHECK_INT(no_grad(&script, "", &estimated), 50 + 810 - (50 + 500));
    CHECK(!estimated);
}

/* As of a variable of the loop: the graph is there during the next steps, and the peak in one. */
TEST(a_graph_that_outlives_its_evaluation)
{
    struct script script = {0};
    train_small(&script);
    call_model(&script, "eval", SCRIPT_OUTSIDE, at(0, 400));
    for (int i = 0; i <= LAYERS; i++)
        script.blocks[script.block_count - 1 - i].end = at(2, i ? 500 + i : 600);
    script_block(&script, at(1, 120), at(1, 130), MIB(700), OTHER);
    CHECK_INT(no_grad(&script, "", NULL), 800);
}

TEST(a_backward_that_comes)
{
    struct script script = {0};
    train_small(&script);
    for (int step = 3; step < 5; step++) {
        call_model(&script, "eval", step, at(step, 0));
        script_phase(&script, "backward", step, at(step, 100), at(step, 199));
    }
    CHECK_INT(no_grad(&script, "", NULL), -1);
}

/* As under no_grad: each as the second one after it is made. */
static void end_early(struct script *script)
{
    for (int i = 0; i < LAYERS; i++)
        script->blocks[script->block_count - 1 - LAYERS + i].end = CALL + 10 * i + 22;
}

TEST(under_no_grad_only_the_output_is_left)
{
    struct script script = {0};
    train_small(&script);
    call_model(&script, "eval", SCRIPT_OUTSIDE, CALL);
    end_early(&script);
    script.blocks[script.block_count - 3].end = CALL + 300; /* a second one */
    CHECK_INT(no_grad(&script, "", NULL), -1);
}

/* The phase goes on as the function that calls it returns, and with it goes the graph. */
TEST(a_graph_that_goes_before_its_phase_ends)
{
    for (int calls = 1; calls <= 2; calls++) {
        struct script script = {0};
        train_small(&script);
        if (calls == 2)
            call_model(&script, "eval", SCRIPT_OUTSIDE, CALL - 200);
        script_phase(&script, "eval", SCRIPT_OUTSIDE, CALL, CALL + 199);
        for (int i = 0; i < LAYERS; i++)
            script_block(&script, CALL + 10 * i + 1, CALL + 150 - i, MIB(100), ENCODE);
        script_block(&script, CALL + 90, CALL + 160, MIB(10), DECODE);
        CHECK_INT(no_grad(&script, "", NULL), 50 + 810 - (50 + 300));
    }
}

/* Half of the bytes, but of one module in four. */
TEST(outputs_of_few_modules_are_no_graph)
{
    static const char modules[] =
        "INSERT INTO module VALUES(1,'a','A'),(2,'b','B'),(3,'c','C'),(4,'d','D');"
        "UPDATE allocation SET module = 1 + (seq / 10) % 4 WHERE seq % 10 = 1 AND seq > 5000;"
        "UPDATE allocation SET module = 1 + (seq / 10) % 4 WHERE seq % 10 = 0 AND seq < 5000";
    struct script few = {0}, all = {0};
    for (int i = 0; i < 2; i++) {
        struct script *script = i ? &all : &few;
        train_small(script);
        for (int layer = 2; layer < 5; layer++)
            script_block(script, at(0, 10 * layer), at(0, 140), MIB(1), ENCODE);
        call_model(script, "eval", SCRIPT_OUTSIDE, CALL);
        if (i == 0)
            end_early(script);
        for (int layer = 3; layer < LAYERS && i == 0; layer += 4)
            script->blocks[script->block_count - 1 - LAYERS + layer].end = CALL + 150 - layer;
    }
    few.blocks[few.block_count - 1].end = CALL + 95;
    CHECK_INT(no_grad(&few, modules, NULL), -1);
    CHECK(no_grad(&all, modules, NULL) > 0);
}

/* What the program holds is there longer than the graph before it: hidden states, logits. */
TEST(what_the_program_holds_stays)
{
    struct script script = {0};
    bool estimated;
    train_small(&script);
    call_model(&script, "eval", SCRIPT_OUTSIDE, CALL);
    script.blocks[script.block_count - 2].end = CALL + 155; /* of the last layer */
    script.blocks[script.block_count - 6].end = CALL + 154;
    CHECK_INT(no_grad(&script, "", &estimated), 50 + 810 - (50 + 400));
    CHECK(estimated);
}

/* As cuDNN's: it is there while nothing is made, so it is no part of what a call could keep. */
TEST(what_an_operation_works_in_is_not_made)
{
    struct script script = {0};
    train_small(&script);
    call_model(&script, "eval", SCRIPT_OUTSIDE, CALL);
    script_block(&script, CALL + 92, CALL + 94, MIB(5000), OTHER);
    script_block(&script, CALL + 95, CALL + 96, MIB(1), OTHER);
    CHECK_INT(no_grad(&script, "", NULL), 810 - 110);
}

/* A recurrent network's own output goes behind what it was made of, and is in no variable. */
TEST(what_one_operation_kept_goes_in_any_order)
{
    static const char modules[] = "INSERT INTO module VALUES(1,'rnn','LSTM'),(2,'head','Linear');"
                                  "UPDATE allocation SET module = 1 + (seq % 10 = 0)"
                                  " WHERE seq > 5000";
    struct script script = {0};
    train_small(&script);
    call_model(&script, "eval", SCRIPT_OUTSIDE, CALL);
    for (int i = 0; i < LAYERS; i++) /* the first two of four go behind the others */
        script.blocks[script.block_count - 1 - LAYERS + i].end = CALL + 150 - 4 * (i / 4) + i % 4;
    CHECK_INT(no_grad(&script, modules, NULL), 50 + 810 - (50 + 300));
}

/* The graph has the batch, too; the next one takes its place. */
TEST(the_batch_goes_with_its_graph)
{
    struct script script = {0};
    train_small(&script);
    call_model(&script, "eval", SCRIPT_OUTSIDE, CALL);
    script_block(&script, CALL - 1, CALL + 151, MIB(40), OTHER);
    script_block(&script, CALL + 110, CALL + 120, MIB(500), OTHER);
    CHECK_INT(no_grad(&script, "", NULL), 50 + 40 + 810 + 500 - (50 + 10 + 500));
}

/* Without model.eval() it is a forward of a step. */
TEST(a_forward_that_no_backward_follows)
{
    struct script script = {0};
    train_small(&script);
    call_model(&script, "forward", 3, at(3, 0));
    script_phase(&script, "loss", 3, at(3, 100), at(3, 199));
    script_phase(&script, "forward", 3, at(3, 200), at(3, 299));
    script_phase(&script, "backward", 3, at(3, 300), at(3, 399));
    script_block(&script, at(3, 210), at(3, 350), MIB(100), ENCODE);
    CHECK_INT(no_grad(&script, "", NULL), 50 + 810 - (50 + 300));
    CHECK(strstr(last_text, "around forwards that no backward follows") != NULL);
}

/* One of two models in a forward has a backward: none of it can go without gradients. */
TEST(a_forward_of_two_models)
{
    struct script script = {0};
    train_small(&script);
    call_model(&script, "forward", 3, at(3, 0));
    script_phase(&script, "loss", 3, at(3, 100), at(3, 199));
    script_phase(&script, "backward", 3, at(3, 300), at(3, 399));
    CHECK_INT(no_grad(&script, "", NULL), 810 - 300);
    script_block(&script, at(3, 2), at(3, 350), MIB(10), ENCODE);
    CHECK_INT(no_grad(&script, "", NULL), -1);
}

TEST_MAIN(TEST_CASE(an_evaluation_keeps_nothing_under_no_grad),
          TEST_CASE(a_training_step_is_the_next_peak),
          TEST_CASE(a_graph_that_outlives_its_evaluation), TEST_CASE(a_backward_that_comes),
          TEST_CASE(under_no_grad_only_the_output_is_left),
          TEST_CASE(a_graph_that_goes_before_its_phase_ends),
          TEST_CASE(outputs_of_few_modules_are_no_graph), TEST_CASE(what_the_program_holds_stays),
          TEST_CASE(what_an_operation_works_in_is_not_made),
          TEST_CASE(what_one_operation_kept_goes_in_any_order),
          TEST_CASE(the_batch_goes_with_its_graph), TEST_CASE(a_forward_that_no_backward_follows),
          TEST_CASE(a_forward_of_two_models))
