/*
 * Levers on calls that no backward goes through, inside of training steps.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "db.h"
#include "levers.h"
#include "levers_model.h"
#include "script.h"
#include "script_sites.h"

enum { STEPS = 3, LAYERS = 4 };

/* Modules by the last digit of the event: 1 and 2 are the teacher's, 3 and 4 the student's. */
#define MODULES(teacher, other, student)                                                           \
    "INSERT INTO module VALUES(1,'" teacher "','Conv2d'),(2,'" other "','ReLU'),(3,'" student      \
    "','Conv2d'),(4,'head','Linear'),(5,'','Net');"                                                \
    "UPDATE allocation SET module = seq % 10 WHERE seq % 10 BETWEEN 1 AND 4"

static const char two_models[] = MODULES("T#2.net.0", "T#2.net.1", "net.0");

/*
 * 50 MiB of parameters. In each step a teacher leaves four blocks of 100 MiB and an answer of 10,
 * which a variable holds until the next step's is there; a student two of 100, which go in
 * backward, where each of its modules has a gradient of 10. The peak is in the second step, as two
 * answers are there: 50 + 410 + 410.
 */
static void train_with_teacher(struct script *script)
{
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    for (int step = 0; step < STEPS; step++) {
        int64_t end = step + 1 < STEPS ? at(step + 1, 55) : SCRIPT_LIVES;
        script_phase(script, "forward", step, at(step, 0), at(step, 99));
        script_phase(script, "backward", step, at(step, 100), at(step, 199));
        script_phase(script, "optimizer", step, at(step, 200), at(step, 299));
        for (int i = 0; i < LAYERS; i++)
            script_block(script, at(step, 10 * i + (i ? 2 : 1)),
                         end == SCRIPT_LIVES ? SCRIPT_LIVES : end - 1 - i, MIB(100),
                         i ? ENCODE : RNN);
        script_block(script, at(step, 42), end, MIB(10), DECODE);
        script_block(script, at(step, 63), at(step, 160), MIB(100), ENCODE);
        script_block(script, at(step, 74), at(step, 150), MIB(100), ENCODE);
        script_block(script, at(step, 104), at(step, 115), MIB(10), OTHER);
        script_block(script, at(step, 113), at(step, 125), MIB(10), OTHER);
    }
}

enum { SAVED = 870 - 50 - 10 - 300 }; /* a layer's output is there until the second one after it */

static char last_text[200];
static size_t last_count;                /* of such levers */
static int64_t last_half, last_together; /* MiB of two others; -1 */

static int64_t mib_of(const struct levers *levers, enum lever_kind kind)
{
    const struct lever *lever = find(levers, kind);
    return lever ? lever->bytes / MIB(1) : -1;
}

/* MiB; -1: it is not there. Of steps from the first one on. */
static int64_t idle_from(const struct script *script, const char *sql, int64_t first)
{
    struct db *db = script_record(script);
    struct peak peak;
    struct levers levers;
    REQUIRE(db_exec(db, sql) == 0);
    REQUIRE(peak_read(db, 1, 1, first, INT64_MAX, 0, &peak) == 0);
    REQUIRE(levers_read(db, &peak, first != INT64_MIN, &levers) == 0);
    CHECK(levers_is_valid(&levers));
    const struct lever *lever = find(&levers, LEVER_NO_GRAD);
    int64_t bytes = lever ? lever->bytes : -MIB(1);
    snprintf(last_text, sizeof last_text, "%s", lever ? lever->text : "");
    last_half = mib_of(&levers, LEVER_HALF_BATCH);
    last_together = mib_of(&levers, LEVER_TOGETHER);
    last_count = 0;
    for (size_t i = 0; i < levers.count; i++)
        last_count += levers.levers[i].kind == LEVER_NO_GRAD;
    CHECK(!lever || (!lever->changes && !lever->at_most));
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return bytes / MIB(1);
}

static int64_t idle(const struct script *script, const char *sql)
{
    return idle_from(script, sql, INT64_MIN);
}

static void move(struct script *script, int64_t seq, int64_t end)
{
    for (int i = 0; i < script->block_count; i++)
        if (script->blocks[i].seq == seq)
            script->blocks[i].end = end;
}

TEST(a_teacher_keeps_nothing_under_no_grad)
{
    struct script script = {0};
    train_with_teacher(&script);
    CHECK_INT(idle(&script, two_models), SAVED);
    CHECK(strstr(last_text, "around T.net: it keeps") != NULL);
}

/* As of two views of a batch: each call leaves an answer of 10 MiB. */
TEST(a_call_that_begins_anew_is_another)
{
    struct script script = {0};
    script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(&script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    for (int step = 0; step < STEPS; step++) {
        script_phase(&script, "forward", step, at(step, 0), at(step, 199));
        script_phase(&script, "backward", step, at(step, 200), at(step, 299));
        script_phase(&script, "optimizer", step, at(step, 300), at(step, 399));
        for (int call = 0; call < 2; call++) {
            for (int i = 0; i < LAYERS; i++)
                script_block(&script, at(step, 50 * call + 10 * i + (i ? 2 : 1)),
                             at(step, 190 + 5 * call - i), MIB(100), i ? ENCODE : RNN);
            script_block(&script, at(step, 50 * call + 42), at(step, 191 + 5 * call), MIB(10),
                         DECODE);
        }
        script_block(&script, at(step, 113), at(step, 260), MIB(100), ENCODE);
        script_block(&script, at(step, 213), at(step, 215), MIB(10), OTHER);
    }
    CHECK_INT(idle(&script, two_models), 50 + 820 + 100 - (50 + 10 + 300));
}

TEST(the_first_model_is_called_by_its_class)
{
    struct script script = {0};
    train_with_teacher(&script);
    CHECK_INT(idle(&script, MODULES("head.0", "head.1", "S#2.net.0")), -1); /* `head` is at work */
    CHECK_INT(idle(&script,
                   MODULES("stem", "layer",
                           "S#2.net.0") ";"
                                        "UPDATE module SET path = 'S#2.head' WHERE id = 4"),
              SAVED);
    CHECK(strstr(last_text, "around Net: it keeps") != NULL);
}

TEST(a_part_of_the_model)
{
    struct script script = {0};
    train_with_teacher(&script);
    CHECK_INT(idle(&script, MODULES("teacher.0", "teacher.1", "student.0")), SAVED);
    CHECK(strstr(last_text, "around teacher: it keeps") != NULL);
}

/* A backward went through it, and the graph is there all the same: retain_graph=True. */
TEST(a_module_with_gradients_is_not_idle)
{
    struct script script = {0};
    train_with_teacher(&script);
    script_block(&script, at(1, 131), at(1, 135), MIB(1), OTHER);
    script_block(&script, at(1, 142), at(1, 145), MIB(1), OTHER);
    CHECK_INT(idle(&script, two_models), -1);
}

TEST(gradients_that_know_no_module_prove_nothing)
{
    struct script script = {0};
    train_with_teacher(&script);
    for (int i = 0; i < script.block_count; i++)
        if (script.blocks[i].site == OTHER)
            script.blocks[i].seq += 5;
    CHECK_INT(idle(&script, two_models), -1);
}

/* Where the recording ends, as a request is refused, a backward may have been to come. */
TEST(a_step_without_its_backward_proves_nothing)
{
    struct script script = {0}, last = {0};
    train_with_teacher(&script);
    script.phase_count = 2; /* the first forward */
    CHECK_INT(idle(&script, two_models), -1);
    train_with_teacher(&last);
    last.phase_count -= 2; /* it did in the steps before it */
    CHECK_INT(idle(&last, two_models), SAVED);
}

TEST(what_goes_in_backward_is_needed)
{
    struct script script = {0};
    train_with_teacher(&script);
    for (int step = 0; step < STEPS; step++)
        for (int i = 0; i < LAYERS; i++)
            move(&script, at(step, 10 * i + (i ? 2 : 1)), at(step, 170 - i));
    CHECK_INT(idle(&script, two_models), -1);
}

/* As of a function that returns before backward: its graph and the student's are there at once. */
TEST(it_may_go_before_backward)
{
    struct script script = {0};
    train_with_teacher(&script);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < LAYERS; i++)
            move(&script, at(step, 10 * i + (i ? 2 : 1)), at(step, 90 - i));
        move(&script, at(step, 42), at(step, 95));
    }
    CHECK_INT(idle(&script, two_models), 50 + 410 + 200 - (50 + 300));
}

/* It is called in the last step alone, which was cut short. */
TEST(a_call_without_a_backward_behind_it_proves_nothing)
{
    struct script script = {0};
    train_with_teacher(&script);
    script.phase_count -= 2;
    for (int i = 0; i < script.block_count; i++)
        if (script.blocks[i].seq < at(2, 0) && script.blocks[i].seq % 1000 < 50)
            script.blocks[i].site = OTHER, script.blocks[i].seq += 5;
    script_block(&script, at(2, 46), SCRIPT_LIVES, MIB(5), OTHER); /* the peak is in that step */
    CHECK_INT(idle(&script, two_models), -1);
}

/* Of a call in evaluation mode another lever speaks, and says so. */
TEST(a_teacher_in_evaluation_mode)
{
    struct script script = {0};
    train_with_teacher(&script);
    for (int i = 0; i < script.phase_count; i++)
        if (strcmp(script.phases[i].kind, "forward") == 0) {
            script.phases[i].kind = script.phases[i].name = "eval";
            script.phases[i].end -= 50;
            script.phases[i].step = SCRIPT_OUTSIDE;
        }
    for (int step = 0; step < STEPS; step++)
        script_phase(&script, "forward", step, at(step, 50), at(step, 99));
    CHECK_INT(idle(&script, two_models), SAVED);
    CHECK(strstr(last_text, "around the calls in evaluation mode of each step") != NULL);
    CHECK_INT((int64_t)last_count, 1);
}

/* What lived when the window began went before it does. Steps before it prove something, too. */
TEST(what_is_outside_of_the_window)
{
    struct script script = {0};
    train_with_teacher(&script);
    CHECK_INT(idle_from(&script, two_models, 1), SAVED);
    script_block(&script, at(0, 131), at(0, 135), MIB(1), OTHER);
    script_block(&script, at(0, 142), at(0, 145), MIB(1), OTHER);
    CHECK_INT(idle_from(&script, two_models, 1), -1);
}

/* A module may have a backward that makes nothing. */
TEST(one_module_proves_nothing)
{
    struct script script = {0};
    train_with_teacher(&script);
    CHECK_INT(idle(&script, MODULES("T#2.net.0", "T#2.net.1",
                                    "net.0") "; UPDATE allocation SET module = 1 WHERE module = 2"),
              -1);
}

/* A model of another class, whose paths begin with its own parts, too: "head" and "net" are of the
 * student's. Call stacks tell it from a part of that: the student is called in another line. */
TEST(a_model_without_a_name_of_its_own)
{
    static const char models[] =
        MODULES("stem.0", "layer.0",
                "net.0") ";INSERT INTO module VALUES(6,'Teacher','Teacher');"
                         "INSERT INTO string "
                         "VALUES(50,'<module>'),(51,'Teacher.forward'),(52,'Net.forward'),"
                         "(53,'/code/train.py'),(54,'/v/site-packages/timm/m.py');"
                         "INSERT INTO frame "
                         "VALUES(50,50,53,7),(51,51,54,5),(52,51,54,6),(53,50,53,8),(54,52,54,9),"
                         "(55,52,54,10);"
                         "DELETE FROM site WHERE site IN (2, 3, 7);";
    static const char apart[] = "INSERT INTO site VALUES(7,0,51),(7,1,50),(3,0,52),(3,1,50),"
                                "(2,0,54),(2,1,53);";
    static const char together[] = "INSERT INTO site VALUES(7,0,54),(7,1,53),(3,0,55),(3,1,53),"
                                   "(2,0,54),(2,1,53);";
    char sql[2000];
    struct script script = {0};
    train_with_teacher(&script);
    for (int i = 0; i < script.block_count; i++) /* layers as the answer: the student's are 2's */
        if (script.blocks[i].site == ENCODE && script.blocks[i].seq % 100 < 50)
            script.blocks[i].site = DECODE;
    snprintf(sql, sizeof sql, "%s%s", models, apart);
    CHECK_INT(idle(&script, sql), SAVED);
    CHECK(strstr(last_text, "around Teacher, called in train.py:7: it keeps") != NULL);
    snprintf(sql, sizeof sql, "%s%s", models, together);
    CHECK_INT(idle(&script, sql), -1);
}

/* Nobody knows whether it is one. */
TEST(a_part_without_a_known_caller)
{
    struct script script = {0};
    train_with_teacher(&script);
    CHECK_INT(idle(&script, MODULES("stem.0", "layer.0", "net.0")), -1);
}

/* ---- half the batch, and all together ---- */

/* A program may number them by tens. */
TEST(steps_are_counted_whatever_their_numbers)
{
    struct script script = {0};
    train_with_teacher(&script);
    CHECK_INT(idle(&script, two_models), SAVED);
    CHECK_INT(last_half, 410);
    CHECK_INT(last_together, 665);
    for (int i = 0; i < script.phase_count; i++)
        if (script.phases[i].step > 0)
            script.phases[i].step *= 10;
    CHECK_INT(idle(&script, two_models), SAVED);
    CHECK_INT(last_half, 410);
    CHECK_INT(last_together, 665);
}

/* As one that draws samples now and then: they have a batch of their own. In step 1 alone: of 50 +
 * 410 + 200 and two of 10 in backward half a batch takes half of the student's. */
TEST(what_few_steps_call_is_not_halved)
{
    struct script script = {0};
    int kept = 0;
    train_with_teacher(&script);
    for (int i = 0; i < script.block_count; i++) {
        const int64_t seq = script.blocks[i].seq;
        if (seq < at(0, 0) || (seq >= at(1, 0) && seq < at(2, 0)) || seq % 1000 >= 50)
            script.blocks[kept++] = script.blocks[i];
    }
    script.block_count = kept;
    idle(&script, two_models);
    CHECK_INT(last_half, 110);
}

/* In an optimizer's step there are 60 and so much, of which half a batch takes 5: beside no_grad,
 * which leaves 360 or 362, it takes 25 off, or 5 of 1270. */
TEST(what_takes_next_to_nothing_more_off_is_left_out)
{
    static const int64_t spikes[] = {280, 302};
    for (int i = 0; i < 2; i++) {
        struct script script = {0};
        train_with_teacher(&script);
        script_block(&script, 11, SCRIPT_LIVES, MIB(400), BUILD);
        for (int step = 0; step < STEPS; step++)
            script_block(&script, at(step, 250), at(step, 260), MIB(spikes[i]), OTHER);
        CHECK_INT(idle(&script, two_models), i ? SAVED - 2 : SAVED);
        CHECK_INT(last_together, i ? -1 : 870 - 55 - 280);
    }
}

/* Before the first step 750 were there: each change alone leaves that, as all do. */
TEST(all_together_save_no_more_than_one)
{
    struct script script = {0};
    train_with_teacher(&script);
    script_block(&script, 20, 30, MIB(700), OTHER);
    CHECK_INT(idle(&script, two_models), 870 - 750);
    CHECK_INT(last_half, 870 - 750);
    CHECK_INT(last_together, -1);
}

TEST_MAIN(TEST_CASE(steps_are_counted_whatever_their_numbers),
          TEST_CASE(what_few_steps_call_is_not_halved),
          TEST_CASE(what_takes_next_to_nothing_more_off_is_left_out),
          TEST_CASE(all_together_save_no_more_than_one),
          TEST_CASE(a_teacher_keeps_nothing_under_no_grad),
          TEST_CASE(a_call_that_begins_anew_is_another),
          TEST_CASE(the_first_model_is_called_by_its_class), TEST_CASE(a_part_of_the_model),
          TEST_CASE(a_module_with_gradients_is_not_idle),
          TEST_CASE(gradients_that_know_no_module_prove_nothing),
          TEST_CASE(a_step_without_its_backward_proves_nothing),
          TEST_CASE(what_goes_in_backward_is_needed), TEST_CASE(it_may_go_before_backward),
          TEST_CASE(one_module_proves_nothing), TEST_CASE(what_is_outside_of_the_window),
          TEST_CASE(a_teacher_in_evaluation_mode),
          TEST_CASE(a_call_without_a_backward_behind_it_proves_nothing),
          TEST_CASE(a_model_without_a_name_of_its_own), TEST_CASE(a_part_without_a_known_caller))
