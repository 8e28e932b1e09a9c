/*
 * Checkpoints beside what backward computes again already, and where it comes again.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "levers_model.h"
#include "levers_step.h"
#include "levers_units.h"
#include "map.h"
#include "peak.h"

/* Site 2 is Block.forward in Model.forward; in site 7 torch.utils.checkpoint is between them. Calls
 * of h.0 to h.3. */
#define PLACES                                                                                     \
    "INSERT INTO string VALUES(50,'Block.forward'),(51,'Model.forward'),(52,'m.py'),"              \
    "(53,'checkpoint'),(54,'/v/site-packages/torch/utils/checkpoint.py');"                         \
    "INSERT INTO frame VALUES(50,50,52,9),(51,51,52,5),(52,51,52,7),(53,53,54,3);"                 \
    "INSERT INTO site VALUES(2,1,50),(2,2,51),(7,1,50),(7,2,53),(7,3,52);"                         \
    "INSERT INTO module VALUES(1,'','Model'),(2,'h.0','Block'),(3,'h.1','Block'),"                 \
    "(4,'h.2','Block'),(5,'h.3','Block');"                                                         \
    "UPDATE allocation SET module = 2 + (seq % 100) / 10"                                          \
    " WHERE site IN (2, 7) AND seq % 1000 BETWEEN 100 AND 299;"                                    \
    "UPDATE allocation SET module = 5 - (seq % 100) / 10"                                          \
    " WHERE site IN (2, 4, 7) AND seq % 1000 BETWEEN 400 AND 699;"

static char last_text[200]; /* of the lever that was asked for last */

/* The first of its kind whose text begins so; all zero if there is none. */
static struct lever lever_of(const struct script *script, const char *sql, enum lever_kind kind,
                             const char *begin)
{
    struct peak peak;
    struct lever out = {0};
    struct db *db = script_record(script);
    REQUIRE(db_exec(db, sql) == 0);
    struct levers levers = read_levers(db, &peak);
    for (size_t i = levers.count; i-- > 0;)
        if (levers.levers[i].kind == kind && strstr(levers.levers[i].text, begin))
            out = levers.levers[i];
    snprintf(last_text, sizeof last_text, "%s", out.text ? out.text : "");
    out.next_phase = out.text = out.site_text = NULL;
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return out;
}

static void begin(struct script *script, int step)
{
    if (step == 0) {
        script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
        script_block(script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    }
    script_phase(script, "forward", step, at(step, FORWARD), at(step, LOSS) - 1);
    script_phase(script, "backward", step, at(step, BACKWARD), at(step, OPTIMIZER) - 1);
}

/* ---- calls that are computed again ---- */

/* Of four calls in a row, with an activation of 40 MiB and an output of 10 each, those of the set
 * `again` are checkpointed: `site` made their blocks. */
static void train_blocks(struct script *script, unsigned again, int site)
{
    for (int step = 0; step < 2; step++) {
        begin(script, step);
        const int backward = script->phase_count;
        for (int i = 0; i < 4; i++) {
            const bool is = again >> i & 1;
            int64_t born = at(step, FORWARD) + 10 * i, node = at(step, BACKWARD) + 10 * (3 - i);
            script_block(script, born + 1, is ? born + 4 : node + 5, MIB(40), is ? site : ENCODE);
            script_block(script, born + 2, i == 3 ? node + 1 : node - 1, MIB(10),
                         is ? site : ENCODE);
            if (is) {
                int id = script_phase(script, "recompute", step, node + 2, node + 3);
                script->phases[id - 1].parent = backward;
                script_block(script, node + 3, node + 6, MIB(40), site);
            }
            script_block(script, node + 4, node + 8, MIB(5), BACKWARD_40);
        }
    }
}

TEST(layers_that_are_not_computed_again_can_be)
{
    struct script script = {0};
    train_blocks(&script, 5, RNN); /* 50, four outputs, two activations; then one beside them */
    struct lever lever = lever_of(&script, PLACES, LEVER_CHECKPOINT, "Block");
    CHECK_INT(lever.bytes, MIB(170 - 130));
    CHECK(strstr(last_text, "checkpoint each Block (h[0-3]) that is not checkpointed yet, called "
                            "in m.py:5: ") == last_text);
    /* Of another program's function that computes again the modules tell. */
    script = (struct script){0};
    train_blocks(&script, 5, ENCODE);
    lever = lever_of(&script, PLACES, LEVER_CHECKPOINT, "Block");
    CHECK_INT(lever.bytes, MIB(170 - 130));
}

TEST(what_is_computed_again_is_no_lever)
{
    struct script script = {0};
    train_blocks(&script, 15, RNN);
    CHECK_INT(lever_of(&script, PLACES, LEVER_CHECKPOINT, "").bytes, 0);
    script = (struct script){0};
    train_blocks(&script, 1, RNN); /* nor what is around it, as the model */
    CHECK(lever_of(&script, PLACES, LEVER_CHECKPOINT, "Block").bytes > 0);
    CHECK_INT(lever_of(&script, PLACES, LEVER_CHECKPOINT, "Model").bytes, 0);
}

/* ---- several models ---- */

/* A teacher of the same class runs behind them, and no backward goes through it. */
static void add_teacher(struct script *script)
{
    for (int step = 0; step < 2; step++)
        for (int i = 0; i < 4; i++) {
            int64_t born = at(step, FORWARD) + 50 + 10 * i;
            script_block(script, born + 1, at(step, OPTIMIZER) + 9 - i, MIB(40), ENCODE);
            script_block(script, born + 2, at(step, OPTIMIZER) + 20 - i, MIB(10), ENCODE);
        }
}

TEST(no_checkpoint_of_what_no_backward_uses)
{
    static const char places[] =
        PLACES "INSERT INTO module VALUES(7,'T#2.h.0','Block'),(8,'T#2.h.1','Block'),"
               "(9,'T#2.h.2','Block'),(10,'T#2.h.3','Block')";
    struct script script = {0};
    train_blocks(&script, 0, RNN);
    add_teacher(&script);
    /* 50 + 200 + 200; with it 50 + 40 + 200, one of 40 again, less an output, and 5 behind it */
    CHECK_INT(lever_of(&script, places, LEVER_CHECKPOINT, "Block").bytes, MIB(125));
    CHECK(strstr(last_text, "checkpoint each Block (h[0-3]), called in m.py:5: ") == last_text);
    CHECK(lever_of(&script, places, LEVER_NO_GRAD, "around T.h").bytes > 0);
}

static int64_t calls_of(const struct levers_units *units, const char *class)
{
    for (size_t i = 0; i < units->count; i++)
        if (strcmp(units->units[i].name, class) == 0)
            return (int64_t)units->units[i].count;
    return -1;
}

/* The model calls its teacher between two of its blocks: for the model that is one call. */
TEST(a_call_goes_on_around_what_no_backward_uses)
{
    static const char places[] =
        PLACES "INSERT INTO module VALUES(7,'teacher.h.0','Block'),(8,'teacher.h.1','Block'),"
               "(9,'teacher.h.2','Block'),(10,'teacher.h.3','Block'),(11,'h.4','Block');"
               "UPDATE allocation SET module = 11 WHERE site = 4 AND seq % 1000 = 402";
    struct script script = {0};
    train_blocks(&script, 0, RNN);
    add_teacher(&script);
    for (int step = 0; step < 2; step++) {
        script_block(&script, at(step, FORWARD) + 91, at(step, BACKWARD) + 3, MIB(60), ENCODE);
        script_block(&script, at(step, FORWARD) + 92, at(step, BACKWARD) + 1, MIB(10), ENCODE);
        script_block(&script, at(step, BACKWARD) + 2, at(step, BACKWARD) + 3, MIB(5), BACKWARD_40);
    }
    struct db *db = script_record(&script);
    struct peak peak;
    struct levers_step step = {0};
    struct levers_units units = {0};
    struct map idle = {0};
    REQUIRE(db_exec(db, places) == 0);
    REQUIRE(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 0, &peak) == 0);
    REQUIRE(levers_step_read(db, &peak, &step) == 0);
    for (size_t i = 0; i < step.count; i++)
        if (step.blocks[i].module >= 7 && step.blocks[i].module <= 10)
            REQUIRE(map_put(&idle, i, 1, NULL));
    REQUIRE(levers_units_read(db, &step, &idle, &units) == 0);
    CHECK_INT(calls_of(&units, "Block"), 2 * 5);
    CHECK_INT(calls_of(&units, "Model"), 2);
    levers_units_clear(&units);
    levers_step_clear(&step);
    map_clear(&idle);
    peak_clear(&peak);
    db_close(db);
}

/* The first model has no path: the others' alone would be a part of what is counted. */
TEST(models_of_which_one_has_no_path_are_not_named)
{
    static const char places[] =
        PLACES "DELETE FROM module WHERE id = 1;"
               "UPDATE module SET path = CASE id WHEN 2 THEN '' ELSE 'Block#' || (id - 1) END";
    struct script script = {0};
    train_blocks(&script, 0, RNN);
    CHECK(lever_of(&script, places, LEVER_CHECKPOINT, "Block").bytes > 0);
    CHECK(strstr(last_text, "checkpoint each Block, called in m.py:5: ") == last_text);
    CHECK_INT(lever_of(&script, places, LEVER_CHECKPOINT_HALF, "").bytes, 0);
    CHECK(lever_of(&script, PLACES, LEVER_CHECKPOINT_HALF, "of h[0-3]").bytes > 0);
}

/* ---- two classes ---- */

/* Two calls of a Block, with 40 MiB, then two of a Tail with 30; each leaves 10. */
static void train_two(struct script *script)
{
    for (int step = 0; step < 2; step++) {
        begin(script, step);
        for (int i = 0; i < 4; i++) {
            int64_t born = at(step, FORWARD) + 10 * i, node = at(step, BACKWARD) + 10 * (3 - i);
            script_block(script, born + 1, node + 5, MIB(i < 2 ? 40 : 30), i < 2 ? ENCODE : OTHER);
            script_block(script, born + 2, i == 3 ? node + 1 : node - 1, MIB(10),
                         i < 2 ? ENCODE : OTHER);
            script_block(script, node + 4, node + 8, MIB(5), BACKWARD_40);
        }
    }
}

TEST(two_classes_together_or_one_of_them)
{
    static const char places[] = PLACES
        "INSERT INTO string VALUES(60,'Tail.forward');"
        "INSERT INTO frame VALUES(60,60,52,20);INSERT INTO site VALUES(8,1,60),(8,2,52);"
        "INSERT INTO module VALUES(6,'t.0','Tail'),(7,'t.1','Tail');"
        "UPDATE allocation SET module = 4 + seq % 100 / 10 WHERE site = 8;"
        "UPDATE allocation SET module = 7 - seq % 100 / 10 WHERE site = 4 AND seq % 100 < 20";
    struct script script = {0};
    train_two(&script);
    CHECK_INT(lever_of(&script, places, LEVER_CHECKPOINT, " and each Tail").bytes, MIB(80 + 30));
    CHECK_INT(lever_of(&script, places, LEVER_CHECKPOINT, "each Block (h[0-3]), called in m.py:5: ")
                  .bytes,
              MIB(80));
    CHECK_INT(lever_of(&script, places, LEVER_CHECKPOINT,
                       "checkpoint each Tail (t[0-1]), called in m.py:7: ")
                  .bytes,
              MIB(30)); /* one comes again while the blocks are there */
}

/* ---- what is one call ---- */

/* A stage that takes something for each of its parts, on lines 8 and 9; parts are `modules`. */
#define STAGE                                                                                      \
    "INSERT INTO string VALUES(50,'Stage.forward'),(51,'Model.forward'),(52,'m.py'),"              \
    "(53,'Part.forward');"                                                                         \
    "INSERT INTO frame VALUES(50,50,52,8),(51,51,52,5),(52,50,52,9),(53,53,52,3);"                 \
    "INSERT INTO site VALUES(2,1,50),(2,2,51),(7,1,53),(7,2,52),(7,3,51);"                         \
    "INSERT INTO module VALUES(1,'','Model'),(2,'up','Stage'),(3,'up.0','Part'),"                  \
    "(4,'up.1','Part'),(5,'up.2','Part');"                                                         \
    "UPDATE allocation SET module = 2 WHERE site = 2;"

static void train_stage(struct script *script)
{
    for (int step = 0; step < 2; step++) {
        begin(script, step);
        for (int i = 0; i < 3; i++) {
            int64_t born = at(step, FORWARD) + 10 * i, node = at(step, BACKWARD) + 10 * (2 - i);
            script_block(script, born + 1, node + 6, MIB(10), ENCODE);
            script_block(script, born + 2, node + 5, MIB(40), RNN);
            if (i == 1)
                script_block(script, born + 3, node + 4, MIB(10), RNN);
            script_block(script, node + 1, node + 8, MIB(5), BACKWARD_40);
        }
        script_block(script, at(step, FORWARD) + 50, at(step, FORWARD) + 60, MIB(4), OTHER);
    }
}

TEST(a_list_of_parts_is_gone_through_in_one_call)
{
    struct script script = {0};
    train_stage(&script);
    /* All parts come again at once, as backward begins: 160 of 215. */
    const char *parts = STAGE "UPDATE allocation SET module = 3 + seq % 100 / 10 WHERE site = 7;";
    CHECK(lever_of(&script, parts, LEVER_CHECKPOINT, "Stage").bytes <= MIB(5));
    /* One that is called three times is computed again call by call. */
    const char *calls = STAGE "UPDATE allocation SET module = 3 WHERE site = 7;";
    CHECK(lever_of(&script, calls, LEVER_CHECKPOINT, "Stage").bytes >= MIB(60));
}

/* Transformers' switch is for each layer that has one: where a stage has one, and so have the
 * layers inside of it, those decide, and half of them cannot be had. */
TEST(a_switch_is_for_layers_inside_of_others_too)
{
#define SWITCHED(stage)                                                                            \
    "INSERT INTO string VALUES(50,'Layer.forward'),(51,'Stage.forward'),(52,'Model.forward'),"     \
    "(53,'GradientCheckpointingLayer.__call__'),(54,'" stage "'),"                                 \
    "(55,'/v/site-packages/transformers/m.py');"                                                   \
    "INSERT INTO frame VALUES(50,50,55,9),(51,51,55,7),(52,52,55,5),(53,53,55,3),(54,54,55,3);"    \
    "INSERT INTO site VALUES(2,1,50),(2,2,53),(2,3,51),(2,4,54),(2,5,52),"                         \
    "(7,1,51),(7,2,54),(7,3,52);"                                                                  \
    "INSERT INTO module VALUES(1,'','Model'),(2,'s.h.0','Layer'),(3,'s.h.1','Layer'),"             \
    "(4,'s.h.2','Layer'),(5,'s.h.3','Layer'),(6,'s','Stage');"                                     \
    "UPDATE allocation SET module = 2 + (seq % 100) / 10 WHERE site = 2;"                          \
    "UPDATE allocation SET module = 6 WHERE site = 7;"
    static const char both[] = SWITCHED("GradientCheckpointingLayer.__call__");
    static const char layers[] = SWITCHED("Module.__call__");
    struct script script = {0};
    train_blocks(&script, 0, ENCODE);
    for (int step = 0; step < 2; step++)
        script_block(&script, at(step, FORWARD) + 48, at(step, BACKWARD), MIB(20), RNN);
    CHECK(lever_of(&script, both, LEVER_CHECKPOINT, "each Layer").bytes > 0);
    CHECK_INT(lever_of(&script, both, LEVER_CHECKPOINT, "Stage").bytes, 0);
    CHECK_INT(lever_of(&script, both, LEVER_CHECKPOINT_HALF, "").bytes, 0);
    CHECK(lever_of(&script, layers, LEVER_CHECKPOINT, "each Layer").bytes > 0);
    CHECK(lever_of(&script, layers, LEVER_CHECKPOINT_HALF, "").bytes > 0);
}

/* ---- where backward comes to a call ---- */

/* A model with 100 MiB for backward, and logits of 30 for a loss outside: backward has two
 * gradients of these before the model's first node runs. */
static void train_model(struct script *script)
{
    for (int step = 0; step < 2; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
        begin(script, step);
        script_block(script, forward + 1, backward + 60, MIB(100), ENCODE);
        script_block(script, forward + 2, forward + 60, MIB(30), ENCODE);
        script_block(script, forward + 50, backward + 3, MIB(30), OTHER);
        script_block(script, backward + 1, backward + 6, MIB(30), BACKWARD_41);
        script_block(script, backward + 5, backward + 9, MIB(30), BACKWARD_41);
        script_block(script, backward + 8, backward + 50, MIB(4), BACKWARD_40);
    }
}

TEST(a_model_is_computed_again_as_its_own_node_runs)
{
    static const char modules[] =
        "INSERT INTO string VALUES(51,'Model.forward'),(52,'m.py');"
        "INSERT INTO frame VALUES(51,51,52,5);INSERT INTO site VALUES(2,1,51);"
        "INSERT INTO module VALUES(1,'','Model');";
    char known[600];
    struct script script = {0};
    train_model(&script);
    /* 210 with two gradients; where it is not known whose nodes run, the 100 come before the second
     * one. Then there is but that one, and one of the model's own. */
    CHECK_INT(lever_of(&script, modules, LEVER_CHECKPOINT, "Model").bytes, 0);
    snprintf(known, sizeof known, "%sUPDATE allocation SET module = 1 WHERE site IN (2, 4)",
             modules);
    CHECK_INT(lever_of(&script, known, LEVER_CHECKPOINT, "Model").bytes, MIB(210 - 184));
}

/* 100 MiB for backward, and an answer of 30 that a ReLU in place and what is behind the model have
 * saved. In forward 120 are beside them for a moment. */
static void train_in_place(struct script *script)
{
    for (int step = 0; step < 2; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
        begin(script, step);
        script_block(script, forward + 1, backward + 60, MIB(100), ENCODE);
        script_block(script, forward + 2, backward + 10, MIB(30), ENCODE);
        script_block(script, forward + 50, forward + 60, MIB(120), OTHER);
        script_block(script, backward + 1, backward + 9, MIB(30), OTHER);
        script_block(script, backward + 8, backward + 20, MIB(30), BACKWARD_41);
        script_block(script, backward + 12, backward + 50, MIB(4), BACKWARD_40);
    }
}

/* The ReLU made nothing in forward. As its node runs all comes again, beside two gradients. */
TEST(a_module_without_a_block_of_its_own)
{
    static const char modules[] =
        "INSERT INTO string VALUES(51,'Model.forward'),(52,'m.py');"
        "INSERT INTO frame VALUES(51,51,52,5);INSERT INTO site VALUES(2,1,51);"
        "INSERT INTO module VALUES(1,'','Model'),(2,'relu','ReLU');"
        "UPDATE allocation SET module = 1 WHERE site IN (2, 4);";
    char known[700];
    struct script script = {0};
    train_in_place(&script);
    CHECK_INT(lever_of(&script, modules, LEVER_CHECKPOINT, "Model").bytes, MIB(300 - 200));
    snprintf(known, sizeof known, "%sUPDATE allocation SET module = 2 WHERE site = 5", modules);
    CHECK_INT(lever_of(&script, known, LEVER_CHECKPOINT, "Model").bytes, MIB(300 - 240));
}

/* A model that makes a small transform: 100 MiB, then of those two small blocks by calls of its
 * own, then what others take. */
static void train_transform(struct script *script)
{
    for (int step = 0; step < 2; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
        begin(script, step);
        script_block(script, forward + 1, backward + 60, MIB(100), ENCODE);
        script_block(script, forward + 2, backward + 50, MIB(1), RNN);
        script_block(script, forward + 3, backward + 40, MIB(1), DECODE);
        script_block(script, forward + 4, backward + 5, MIB(1), ENCODE);
        script_block(script, forward + 50, forward + 60, MIB(160), OTHER);
        script_block(script, backward + 8, backward + 70, MIB(4), BACKWARD_40);
    }
}

TEST(what_a_call_leaves_may_be_small)
{
    static const char modules[] =
        "INSERT INTO string VALUES(51,'Model.forward'),(52,'m.py');"
        "INSERT INTO frame VALUES(51,51,52,5);INSERT INTO site VALUES(2,1,51),(3,1,51),(7,1,51);"
        "INSERT INTO module VALUES(1,'','Model');"
        "UPDATE allocation SET module = 1 WHERE site IN (2, 3, 4, 7);";
    struct script script = {0};
    train_transform(&script); /* 313 beside what is no model's; then 50, what it leaves, and 160 */
    CHECK_INT(lever_of(&script, modules, LEVER_CHECKPOINT, "Model").bytes, MIB(313 - 211));
}

/* ---- autocast ---- */

/* The model's weight of 20 MiB has a copy of 10, which is there until autocast is left, behind the
 * loss: so is one of a bias, which backward does not need. */
static void train_with_copies(struct script *script)
{
    for (int step = 0; step < 2; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
        begin(script, step);
        script_phase(script, "loss", step, at(step, LOSS), at(step, BACKWARD) - 1);
        script_block(script, forward + 1, forward + 260, MIB(2), ENCODE);
        script_block(script, forward + 2, backward + 60, MIB(10), ENCODE);
        script_block(script, forward + 3, backward + 61, MIB(100), ENCODE);
        script_block(script, forward + 4, backward + 62, MIB(10), ENCODE); /* no copy */
        script_block(script, forward + 5, forward + 280, MIB(30), ENCODE);
        script_block(script, forward + 250, forward + 251, MIB(160), OTHER);
        script_block(script, backward + 8, backward + 9, MIB(4), BACKWARD_40);
        script_tagged(script, backward + 63, backward + 250, MIB(20), BACKWARD_40, TAG_GRADIENT);
        script_tagged(script, backward + 64, backward + 251, MIB(4), BACKWARD_40, TAG_GRADIENT);
    }
}

#define ALL_FLOAT                                                                                  \
    "INSERT INTO string VALUES(51,'Model.forward'),(52,'m.py');"                                   \
    "INSERT INTO frame VALUES(51,51,52,5);INSERT INTO site VALUES(2,1,51);"                        \
    "INSERT INTO module VALUES(1,'','Model');"                                                     \
    "UPDATE allocation SET module = 1 WHERE site IN (2, 4);"                                       \
    "INSERT INTO setting VALUES(1,NULL,'parameter_dtype','float32');"                              \
    "INSERT INTO setting VALUES(1,NULL,'graph_dtype','float32');"
#define AUTOCAST ALL_FLOAT "INSERT INTO setting VALUES(1,NULL,'graph_dtype','bfloat16')"

TEST(copies_of_weights_are_there_until_autocast_is_left)
{
    struct script script = {0};
    train_with_copies(&script); /* 362 in the loss, 120 of them for backward */
    CHECK_INT(lever_of(&script, ALL_FLOAT, LEVER_CHECKPOINT, "Model").bytes, MIB(120));
    CHECK_INT(lever_of(&script, AUTOCAST, LEVER_CHECKPOINT, "Model").bytes, MIB(110));
}

/* Without a checkpoint it goes as soon as there is a copy of it, which is saved. Of the tensors of
 * one line the one that goes first counts as what the call leaves: 2 MiB. */
TEST(what_a_call_is_given_may_be_in_float32)
{
    struct script script = {0};
    train_with_copies(&script);
    for (int step = 0; step < 2; step++)
        script_block(&script, at(step, FORWARD), at(step, FORWARD) + 4, MIB(4), OTHER);
    CHECK_INT(lever_of(&script, ALL_FLOAT, LEVER_CHECKPOINT, "Model").bytes, MIB(120));
    CHECK_INT(lever_of(&script, AUTOCAST, LEVER_CHECKPOINT, "Model").bytes, MIB(110 - 4));
}

/* The batch is half as large, and the weights are not. */
TEST(copies_of_weights_are_not_halved)
{
    struct script script = {0};
    train_with_copies(&script);
    const int64_t all = lever_of(&script, ALL_FLOAT, LEVER_HALF_BATCH, "").bytes;
    CHECK_INT(all - lever_of(&script, AUTOCAST, LEVER_HALF_BATCH, "").bytes, MIB((10 + 2) / 2));
}

TEST_MAIN(TEST_CASE(no_checkpoint_of_what_no_backward_uses),
          TEST_CASE(models_of_which_one_has_no_path_are_not_named),
          TEST_CASE(a_call_goes_on_around_what_no_backward_uses),
          TEST_CASE(layers_that_are_not_computed_again_can_be),
          TEST_CASE(what_is_computed_again_is_no_lever),
          TEST_CASE(a_list_of_parts_is_gone_through_in_one_call),
          TEST_CASE(a_switch_is_for_layers_inside_of_others_too),
          TEST_CASE(two_classes_together_or_one_of_them),
          TEST_CASE(a_module_without_a_block_of_its_own),
          TEST_CASE(what_a_call_leaves_may_be_small),
          TEST_CASE(copies_of_weights_are_there_until_autocast_is_left),
          TEST_CASE(what_a_call_is_given_may_be_in_float32),
          TEST_CASE(copies_of_weights_are_not_halved),
          TEST_CASE(a_model_is_computed_again_as_its_own_node_runs))
