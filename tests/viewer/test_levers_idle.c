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
            script_block(script, at(step, 10 * i + 1 + i % 2),
                         end == SCRIPT_LIVES ? SCRIPT_LIVES : end - 1 - i, MIB(100), ENCODE);
        script_block(script, at(step, 42), end, MIB(10), DECODE);
        script_block(script, at(step, 63), at(step, 160), MIB(100), ENCODE);
        script_block(script, at(step, 74), at(step, 150), MIB(100), ENCODE);
        script_block(script, at(step, 104), at(step, 115), MIB(10), OTHER);
        script_block(script, at(step, 113), at(step, 125), MIB(10), OTHER);
    }
}

enum { SAVED = 870 - 50 - 10 - 300 }; /* a layer's output is there until the second one after it */

static char last_text[200];

/* MiB; -1: it is not there. */
static int64_t idle(const struct script *script, const char *sql)
{
    struct db *db = script_record(script);
    struct peak peak;
    REQUIRE(db_exec(db, sql) == 0);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, LEVER_NO_GRAD);
    int64_t bytes = lever ? lever->bytes : -MIB(1);
    snprintf(last_text, sizeof last_text, "%s", lever ? lever->text : "");
    CHECK(!lever || (!lever->changes && !lever->at_most));
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return bytes / MIB(1);
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
    CHECK(strstr(last_text, "around T#2.net:") != NULL);
}

TEST(the_first_model_is_called_by_its_class)
{
    struct script script = {0};
    train_with_teacher(&script);
    CHECK_INT(idle(&script, MODULES("stem", "layer", "S#2.net.0")), -1); /* `head` is of it */
    CHECK_INT(idle(&script,
                   MODULES("stem", "layer",
                           "S#2.net.0") ";"
                                        "UPDATE module SET path = 'S#2.head' WHERE id = 4"),
              SAVED);
    CHECK(strstr(last_text, "around Net:") != NULL);
}

TEST(a_part_of_the_model)
{
    struct script script = {0};
    train_with_teacher(&script);
    CHECK_INT(idle(&script, MODULES("teacher.0", "teacher.1", "student.0")), SAVED);
    CHECK(strstr(last_text, "around teacher:") != NULL);
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
            move(&script, at(step, 10 * i + 1 + i % 2), at(step, 170 - i));
    CHECK_INT(idle(&script, two_models), -1);
}

/* As of a function that returns before backward: its graph and the student's are there at once. */
TEST(it_may_go_before_backward)
{
    struct script script = {0};
    train_with_teacher(&script);
    for (int step = 0; step < STEPS; step++) {
        for (int i = 0; i < LAYERS; i++)
            move(&script, at(step, 10 * i + 1 + i % 2), at(step, 90 - i));
        move(&script, at(step, 42), at(step, 95));
    }
    CHECK_INT(idle(&script, two_models), 50 + 410 + 200 - (50 + 300));
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

TEST_MAIN(TEST_CASE(a_teacher_keeps_nothing_under_no_grad),
          TEST_CASE(the_first_model_is_called_by_its_class), TEST_CASE(a_part_of_the_model),
          TEST_CASE(a_module_with_gradients_is_not_idle),
          TEST_CASE(gradients_that_know_no_module_prove_nothing),
          TEST_CASE(a_step_without_its_backward_proves_nothing),
          TEST_CASE(what_goes_in_backward_is_needed), TEST_CASE(it_may_go_before_backward),
          TEST_CASE(one_module_proves_nothing))
