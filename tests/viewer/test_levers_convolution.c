/*
 * Levers on the workspaces of convolutions: channels last, and no trials.
 *
 * The model of levers_model.h peaks at 780 MiB in step 1's backward. A workspace is a block of a
 * module that convolves, which is freed before the next one is born.
 */
#include <stdio.h>
#include <string.h>

#include "levers_model.h"
#include "peak.h"
#include "test.h"

enum { CONVOLUTION = 4096 /* MiB and bytes of it mark the blocks of the module */ };

/* On a GPU; blocks of a size that is no whole number of MiB are of a module of that class. */
static struct lever lever_of(const struct script *script, const char *class, enum lever_kind kind,
                             char *text, size_t room)
{
    struct peak peak;
    char sql[512];
    struct db *db = script_record(script);
    snprintf(sql, sizeof sql,
             "UPDATE device SET kind = 'cuda', ordinal = 0;"
             "INSERT INTO module VALUES(900, 'features.0', '%s');"
             "UPDATE allocation SET module = 900 WHERE size %% 1048576 = %d",
             class, CONVOLUTION);
    REQUIRE(db_exec(db, sql) == 0);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, kind);
    struct lever out = lever ? *lever : (struct lever){.bytes = -1};
    snprintf(text, room, "%s", lever ? lever->text : "");
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return out;
}

static void workspace(struct script *script, int step, int offset, int mib)
{
    script_block(script, at(step, offset), at(step, offset) + 1, MIB(mib) + CONVOLUTION, DECODE);
}

/* Forward and backward of three steps want 200 and 300 MiB beside what lives then. */
static void convolve(struct script *script)
{
    train(script, &(struct model){0});
    for (int step = 0; step < 3; step++) {
        workspace(script, step, FORWARD + 60, 200);
        workspace(script, step, BACKWARD + 8, 300);
    }
}

TEST(channels_last_takes_the_workspaces)
{
    char text[256];
    struct script script = {0};
    convolve(&script);
    struct lever lever = lever_of(&script, "Conv2d", LEVER_CHANNELS_LAST, text, sizeof text);
    CHECK_INT(lever.bytes, MIB(660 + 300 - 780) + CONVOLUTION);
    CHECK(lever.at_most && !lever.changes);
    CHECK(strstr(text, "memory_format=torch.channels_last ") != NULL);
}

TEST(of_one_or_three_dimensions_there_is_none)
{
    char text[256];
    struct script script = {0};
    convolve(&script);
    CHECK_INT(lever_of(&script, "Conv3d", LEVER_CHANNELS_LAST, text, sizeof text).bytes, -1);
    CHECK_INT(lever_of(&script, "Conv1d", LEVER_CHANNELS_LAST, text, sizeof text).bytes, -1);
    CHECK_INT(lever_of(&script, "Linear", LEVER_CHANNELS_LAST, text, sizeof text).bytes, -1);
}

/* With channels last a forward wants nothing: then it is in force. */
TEST(where_no_forward_wants_any_it_is_in_force)
{
    char text[256];
    struct script script = {0};
    train(&script, &(struct model){0});
    for (int step = 0; step < 3; step++)
        workspace(&script, step, BACKWARD + 8, 300);
    CHECK_INT(lever_of(&script, "Conv2d", LEVER_CHANNELS_LAST, text, sizeof text).bytes, -1);
}

/* For the result that each step's backward makes right before. A block that outlives the birth of
 * another is a value that goes on. */
static void add_trial(struct script *script, int end)
{
    for (int step = 0; step < 3; step++) {
        script_block(script, at(step, BACKWARD) + 48, at(step, BACKWARD) + 70, MIB(5) + CONVOLUTION,
                     DECODE);
        script_block(script, at(step, BACKWARD) + 55, at(step, BACKWARD) + 58, MIB(1), OTHER);
    }
    script_block(script, at(0, BACKWARD) + 50, at(0, BACKWARD) + end, MIB(1500) + CONVOLUTION,
                 DECODE);
}

TEST(what_only_the_first_step_wants_is_a_trial)
{
    char text[256];
    struct script script = {0};
    convolve(&script);
    CHECK_INT(lever_of(&script, "Conv2d", LEVER_NO_BENCHMARK, text, sizeof text).bytes, -1);
    add_trial(&script, 51);
    struct lever lever = lever_of(&script, "Conv2d", LEVER_NO_BENCHMARK, text, sizeof text);
    CHECK(lever.bytes > 0 && lever.estimated && !lever.at_most);
    CHECK(strstr(text, "torch.backends.cudnn.benchmark = False") != NULL);
    CHECK(strstr(text, "up to 1500 MiB of workspace") != NULL);
}

TEST(inputs_of_another_size_are_no_trial)
{
    char text[256];
    struct script script = {0};
    convolve(&script);
    for (int step = 0; step < 3; step++) { /* the result is of another size in each step */
        script_block(&script, at(step, BACKWARD) + 48, at(step, BACKWARD) + 70,
                     MIB(5 + step) + CONVOLUTION, DECODE);
        script_block(&script, at(step, BACKWARD) + 55, at(step, BACKWARD) + 58, MIB(1), OTHER);
    }
    script_block(&script, at(0, BACKWARD) + 50, at(0, BACKWARD) + 51, MIB(1500) + CONVOLUTION,
                 DECODE);
    CHECK_INT(lever_of(&script, "Conv2d", LEVER_NO_BENCHMARK, text, sizeof text).bytes, -1);
}

TEST(a_value_that_goes_on_is_no_workspace)
{
    char text[256];
    struct script script = {0};
    convolve(&script);
    add_trial(&script, 56);
    CHECK_INT(lever_of(&script, "Conv2d", LEVER_NO_BENCHMARK, text, sizeof text).bytes, -1);
}

TEST(two_steps_do_not_say_what_is_a_trial)
{
    char text[256];
    struct script script = {0};
    train(&script, &(struct model){.steps = 2});
    add_trial(&script, 51);
    CHECK_INT(lever_of(&script, "Conv2d", LEVER_NO_BENCHMARK, text, sizeof text).bytes, -1);
}

TEST_MAIN(TEST_CASE(channels_last_takes_the_workspaces),
          TEST_CASE(of_one_or_three_dimensions_there_is_none),
          TEST_CASE(where_no_forward_wants_any_it_is_in_force),
          TEST_CASE(what_only_the_first_step_wants_is_a_trial),
          TEST_CASE(inputs_of_another_size_are_no_trial),
          TEST_CASE(a_value_that_goes_on_is_no_workspace),
          TEST_CASE(two_steps_do_not_say_what_is_a_trial))
