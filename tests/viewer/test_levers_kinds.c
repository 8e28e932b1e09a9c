/*
 * Levers that go by what the model is made of: a cache, a graph that is retained, batch
 * normalization, tanh GELU in pieces, frozen parameters, modules and their places.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "levers_model.h"
#include "levers_units.h"
#include "mem.h"
#include "peak.h"

/* The first of that kind of the recording and `more`; its text is `text`. */
static struct lever lever_with(const struct script *script, const char *more, enum lever_kind kind,
                               char *text, size_t room)
{
    struct peak peak;
    struct db *db = script_record(script);
    REQUIRE(db_exec(db, more) == 0);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, kind);
    struct lever out = lever ? *lever : (struct lever){0};
    snprintf(text, room, "%s", lever ? lever->text : "");
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return out;
}

/* A step of forward and backward alone. */
static void two_phases(struct script *script, int step)
{
    script_phase(script, "forward", step, at(step, FORWARD), at(step, BACKWARD) - 1);
    script_phase(script, "backward", step, at(step, BACKWARD), at(step, END));
}

/* ---- a cache of keys and values ---- */

static const char cache_sql[] =
    "INSERT INTO string VALUES(50,'DynamicLayer.update'),"
    "(51,'/lib/transformers/cache_utils.py');"
    "INSERT INTO frame VALUES(50,50,51,9);INSERT INTO site VALUES(8,1,50)";

/* Two steps; 70 MiB of keys that attention saves with its output, and that the answer holds until
 * the next forward is over. */
static void train_with_cache(struct script *script)
{
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(script, 10, SCRIPT_LIVES, MIB(30), BUILD);
    for (int step = 0; step < 2; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
        two_phases(script, step);
        script_block(script, forward + 1, at(step + 1, LOSS), MIB(70), OTHER);
        script_block(script, forward + 2, backward + 5, MIB(40), ENCODE);
        script_block(script, forward + 3, backward + 4, MIB(20), DECODE);
    }
}

TEST(a_cache_is_of_no_use_in_training)
{
    struct script script = {0};
    char text[400];
    train_with_cache(&script);
    /* 30, 70 of the step before, then 130 of forward. Without the cache, the 70 of before go. */
    struct lever lever = lever_with(&script, cache_sql, LEVER_NO_CACHE, text, sizeof text);
    CHECK_INT(lever.bytes, MIB(70));
    CHECK(!lever.at_most && !lever.changes);
    CHECK(strstr(text, "use_cache = False") != NULL);
    CHECK_INT(lever_with(&script, cache_sql, LEVER_HELD, text, sizeof text).bytes, 0);
    /* of another file: a variable holds it */
    CHECK_INT(lever_with(&script, "", LEVER_NO_CACHE, text, sizeof text).bytes, 0);
    CHECK_INT(lever_with(&script, "", LEVER_HELD, text, sizeof text).bytes, MIB(70));
}

/* Two requests of three calls; each call makes 30 MiB of keys more than the one before, which go as
 * soon as they are copied. The answer of the last call holds 90 MiB of keys and 5 of logits. */
static void answer(struct script *script, bool released)
{
    int64_t seq = 100;
    script_block(script, 10, SCRIPT_LIVES, MIB(30), BUILD);
    script_phase(script, "other", SCRIPT_OUTSIDE, 1, seq - 1);
    for (int request = 0; request < 2; request++)
        for (int call = 0; call < 3; call++, seq += 50) {
            int64_t last = request || released ? seq + 41 : seq + 91;
            script_phase(script, "forward_no_grad", SCRIPT_OUTSIDE, seq, seq + 39);
            script_phase(script, "other", SCRIPT_OUTSIDE, seq + 40, seq + 49);
            script_block(script, seq + 10, call < 2 ? seq + 61 : last, MIB(30 * (call + 1)), OTHER);
            script_block(script, seq + 20, call < 2 ? seq + 71 : last + 1, MIB(5), DECODE);
            script_block(script, seq + 30, seq + 31, MIB(50), ENCODE);
        }
}

TEST(an_answered_request_can_go)
{
    struct script script = {0}, released = {0}, other = {0};
    char text[400];
    answer(&script, false);
    /* 30, 95 of the first request, 85 of a call; then 30, 65 and 90 as the last call copies */
    struct lever lever = lever_with(&script, cache_sql, LEVER_FINISHED_REQUEST, text, sizeof text);
    CHECK_INT(lever.bytes, MIB(30 + 95 + 85 - (30 + 65 + 90)));
    CHECK(!lever.at_most && !lever.changes);
    CHECK(strstr(text, "before the next request") != NULL);
    answer(&released, true);
    CHECK_INT(lever_with(&released, cache_sql, LEVER_FINISHED_REQUEST, text, sizeof text).bytes, 0);
    answer(&other, false); /* of another file */
    CHECK_INT(lever_with(&other, "", LEVER_FINISHED_REQUEST, text, sizeof text).bytes, 0);
}

/* ---- one variable with several outputs ---- */

TEST(del_takes_all_that_goes_with_a_variable)
{
    struct script script = {0};
    char text[400];
    train_with_cache(&script);
    script_block(&script, at(0, FORWARD) + 4, at(1, LOSS) + 1, MIB(5), BACKWARD_40);
    script_block(&script, at(1, FORWARD) + 4, at(2, LOSS) + 1, MIB(5), BACKWARD_40);
    struct lever lever = lever_with(&script, "", LEVER_HELD, text, sizeof text);
    CHECK_INT(lever.bytes, MIB(75));
    CHECK(strstr(text, "and all that the variable holds") != NULL);
}

/* ---- a graph that is retained ---- */

/* Five blocks of `sites` calls live through backward, and as many of 4 MiB go in it if one `frees`.
 */
static void train_retained(struct script *script, int sites, bool frees)
{
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(script, 10, SCRIPT_LIVES, MIB(30), BUILD);
    for (int step = 0; step < 4; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
        two_phases(script, step);
        for (int i = 0; i < 5; i++)
            script_block(script, forward + 1 + i, at(step + 1, LOSS) + i, MIB(10),
                         i < sites ? ENCODE + i : ENCODE);
        for (int i = 0; i < 5 && frees; i++)
            script_block(script, forward + 6 + i, backward + 1 + i, MIB(4), ENCODE + i);
    }
}

/* A validation in each step, whose loss is kept with its graph: backward lets go of its own. */
TEST(a_forward_without_a_backward_retains_no_graph)
{
    struct script script = {0};
    char text[400];
    train_retained(&script, 5, true);
    CHECK_INT(lever_with(&script, "", LEVER_RETAIN_GRAPH, text, sizeof text).bytes, 0);
}

TEST(a_graph_that_is_retained_is_named)
{
    struct script script = {0};
    char text[400];
    train_retained(&script, 5, false);
    struct lever lever = lever_with(&script, "", LEVER_RETAIN_GRAPH, text, sizeof text);
    CHECK_INT(lever.bytes, MIB(50));
    CHECK(lever.estimated && !lever.changes);
    CHECK_INT(lever_with(&script, "", LEVER_HELD, text, sizeof text).bytes, 0);
    /* a list of outputs of one call is no graph */
    struct script list = {0};
    train_retained(&list, 1, false);
    CHECK_INT(lever_with(&list, "", LEVER_RETAIN_GRAPH, text, sizeof text).bytes, 0);
    CHECK_INT(lever_with(&list, "", LEVER_HELD, text, sizeof text).bytes, MIB(50));
}

/* ---- the optimizer's step in backward ---- */

TEST(the_optimizer_can_step_in_backward)
{
    struct script script = {0};
    char text[400];
    train(&script, &(struct model){.none = true});
    /* The peak has no gradients; they are let go at once where they would add up. */
    script_block(&script, at(1, OPTIMIZER) + 9, at(1, OPTIMIZER) + 12, MIB(600), ADAM);
    struct lever lever = lever_with(&script, "", LEVER_OPTIMIZER_IN_BACKWARD, text, sizeof text);
    CHECK(lever.bytes > MIB(200));
    CHECK(lever.at_most && !lever.changes); /* it is no CPU */
    CHECK(strstr(text, "(torch 2.1 or later)") != NULL);
    lever = lever_with(&script, "INSERT INTO setting VALUES(1, NULL, 'torch', '2.1.0')",
                       LEVER_OPTIMIZER_IN_BACKWARD, text, sizeof text);
    CHECK(lever.bytes > MIB(200) && !strstr(text, "or later"));
    CHECK_INT(lever_with(&script, "INSERT INTO setting VALUES(1, NULL, 'torch', '2.0.1')",
                         LEVER_OPTIMIZER_IN_BACKWARD, text, sizeof text)
                  .bytes,
              0);
    /* Clipping looks at all gradients together. */
    CHECK_INT(lever_with(&script,
                         "INSERT INTO string VALUES(60,'clip_grad_norm_');"
                         "INSERT INTO frame VALUES(60,60,NULL,NULL)",
                         LEVER_OPTIMIZER_IN_BACKWARD, text, sizeof text)
                  .bytes,
              0);
}

/* ---- modules ---- */

/* Blocks of site 2 come from Block.forward inside of Model.forward. */
#define MODULES                                                                                    \
    "INSERT INTO string VALUES(50,'Block.forward'),(51,'Model.forward'),(52,'m.py');"              \
    "INSERT INTO frame VALUES(50,50,52,9),(51,51,52,5),(52,51,52,7);"                              \
    "INSERT INTO site VALUES(2,1,50),(2,2,51),(8,1,52),(8,2,51);"

#define PLACES                                                                                     \
    MODULES "INSERT INTO module VALUES(1,'','Model'),(2,'h.0','Block'),(3,'h.1','Block'),"         \
            "(4,'h.2','Block'),(5,'h.3','Block'),(6,'h.0.up','Linear');"                           \
            "UPDATE allocation SET module = 2 + (seq % 100) / 10 WHERE site = 2;"                  \
            "UPDATE allocation SET module = 6 WHERE module = 2;"

static void train_blocks(struct script *script)
{
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    for (int step = 0; step < 2; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
        two_phases(script, step);
        for (int i = 0; i < 4; i++) {
            int64_t born = forward + 10 * i, node = backward + 10 * (4 - i);
            script_block(script, born + 1, node + 5, MIB(40), ENCODE);
            script_block(script, born + 2, node - 4, MIB(10), ENCODE);
            script_block(script, node + 2, node + 8, MIB(5), BACKWARD_40);
        }
    }
}

TEST(modules_are_named_by_their_places)
{
    struct script script = {0};
    char text[400];
    train_blocks(&script);
    struct lever lever = lever_with(&script, PLACES, LEVER_CHECKPOINT, text, sizeof text);
    CHECK(lever.bytes > 0);
    CHECK(!lever.changes);
    CHECK(strstr(text, "checkpoint each Block (h[0-3]), called in m.py:5: ") == text);
    int64_t all = lever.bytes;
    lever = lever_with(&script, PLACES, LEVER_CHECKPOINT_HALF, text, sizeof text);
    CHECK(lever.bytes > MIB(40) && lever.bytes < all);
    CHECK(strstr(text, "every second Block") != NULL && strstr(text, "h[0-3]") != NULL);
}

/* torch.compile's own classes have a forward, too; nobody can checkpoint those. */
TEST(what_the_compiler_made_is_no_module)
{
    struct script script = {0};
    char text[400];
    train_blocks(&script);
    struct lever lever = lever_with(
        &script,
        PLACES "INSERT INTO string VALUES(53,'Factory.build.<locals>.CompiledFunction.forward'),"
               "(54,'/v/site-packages/torch/_functorch/_aot_autograd/runtime_wrappers.py');"
               "UPDATE frame SET function = 53, file = 54 WHERE id = 50;"
               "UPDATE module SET class = 'Factory.build.<locals>.CompiledFunction'"
               " WHERE class = 'Block';",
        LEVER_CHECKPOINT, text, sizeof text);
    CHECK(!lever.bytes || !strstr(text, "CompiledFunction"));
}

/* What the head itself made is its output; what a function made in the head is not. */
TEST(an_output_is_named_by_its_module)
{
    struct script script = {0};
    char *name;
    train_blocks(&script);
    struct db *db = script_record(&script);
    REQUIRE(db_exec(db,
                    PLACES "INSERT INTO module VALUES(7,'head','nn.Linear');"
                           "INSERT INTO string VALUES(60,'Linear.forward'),(61,'Linear.forwards'),"
                           "(62,'/v/site-packages/torch/nn/modules/linear.py');"
                           "INSERT INTO frame VALUES(60,60,62,3),(61,61,62,4);"
                           "INSERT INTO site VALUES(70,0,60),(70,1,52),(71,0,61),(71,1,52)") == 0);
    REQUIRE(levers_output_name(db, 70, 7, &name) == 0);
    CHECK_STR(name, "head (Linear), called in Model.forward (m.py:7),");
    mem_free(name);
    const int64_t others[][2] = {{71, 7},  {70, 3},          {70, 1},
                                 {70, 99}, {70, GROUP_NONE}, {GROUP_NONE, 7}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        REQUIRE(levers_output_name(db, others[i][0], others[i][1], &name) == 0);
        CHECK(name == NULL);
    }
    db_close(db);
}

TEST(batch_norm_makes_other_numbers)
{
    static const char normed[] = PLACES "UPDATE string SET text = 'batch_norm' WHERE id = 2";
    struct script script = {0};
    char text[400];
    train_blocks(&script);
    struct lever lever = lever_with(&script, normed, LEVER_CHECKPOINT, text, sizeof text);
    CHECK(lever.changes);
    CHECK(strstr(text, "BatchNorm") != NULL);
    lever = lever_with(&script, normed, LEVER_HALF_BATCH, text, sizeof text);
    CHECK(lever.changes);
    CHECK(strstr(text, "BatchNorm") != NULL);
    lever = lever_with(&script, MODULES, LEVER_HALF_BATCH, text, sizeof text);
    CHECK(lever.bytes > 0 && !lever.changes);
}

/* A batch as large as a layer is wide: what backward makes for its rows has a parameter's size. The
 * second half finds 40 MiB of gradients. */
TEST(a_row_gradient_of_a_parameters_size_is_halved)
{
    struct script script = {0};
    script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(&script, 10, SCRIPT_LIVES, MIB(40), BUILD);
    for (int step = 0; step < 2; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
        script_phase(&script, "zero_grad", step, at(step, ZERO), forward - 1);
        script_phase(&script, "forward", step, forward, backward - 1);
        script_phase(&script, "backward", step, backward, at(step, END));
        script_block(&script, forward + 1, backward + 5, MIB(40), ENCODE);
        script_block(&script, forward + 2, backward + 15, MIB(40), ENCODE);
        script_block(&script, backward + 2, backward + 4, MIB(40), BACKWARD_40);
        script_block(&script, backward + 6, at(step + 1, ZERO) + 1, MIB(40), BACKWARD_41);
        script_block(&script, backward + 16, backward + 17, MIB(1), BACKWARD_40);
    }
    CHECK_INT(worth(&script, LEVER_HALF_BATCH, NULL), 20);
}

/* Eight tensors of a class's forward, those of `saved` for backward, which makes `gradients`;
 * numbers of Python's are on the host. */
static struct lever fused_in(const char *class, const char *saved, bool numbers, int gradients,
                             char *text, size_t bytes)
{
    struct script script = {0};
    char sql[900];
    script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(&script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    for (int step = 0; step < 2; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
        script_phase(&script, "forward", step, forward, backward - 1);
        script_phase(&script, "backward", step, backward, at(step, END));
        script_block(&script, forward + 1, backward + 60, MIB(10), ENCODE);
        for (int i = 0; saved[i]; i++)
            script_block(&script, forward + 3 + 2 * i,
                         saved[i] == '1' ? backward + 40 + i : forward + 6 + 2 * i, MIB(10),
                         DECODE);
        for (int i = 0; i < gradients; i++)
            script_block(&script, backward + 1 + i, backward + 30 + i, MIB(10), BACKWARD_40);
    }
    snprintf(
        sql, sizeof sql,
        "INSERT INTO string VALUES(50,'%s.forward');"
        "INSERT INTO frame VALUES(50,50,NULL,NULL);INSERT INTO site VALUES(3,1,50);"
        "INSERT INTO module VALUES(1,'act','%s');"
        "UPDATE allocation SET module=1 WHERE site IN (3,4);"
        "INSERT INTO device VALUES(2,'cpu',-1,NULL,NULL);INSERT INTO heap VALUES(2,1,2,0,0,NULL);"
        "INSERT INTO allocation SELECT seq-1,2,0,8,8,0,0,seq,3,NULL,NULL,1 FROM allocation"
        " WHERE site = 3 AND %d AND seq%%1000 IN (103,107,111,115)",
        class, class, numbers);
    return lever_with(&script, sql, LEVER_FUSED_OPERATION, text, bytes);
}

TEST(a_gelu_in_pieces_saves_more_than_its_input)
{
    static const char saved[] = "10000111", others[] = "10010111", few[] = "00000011";
    char text[400];
    CHECK_INT(fused_in("NewGELUActivation", saved, false, 0, text, sizeof text).bytes, MIB(30));
    CHECK(strstr(text, "where 3 tensors are saved") != NULL);
    /* In backward one tensor of the module's is left. */
    CHECK_INT(fused_in("NewGELUActivation", saved, false, 4, text, sizeof text).bytes, MIB(60));
    /* Known by its operations, or by a name that does not say which way it goes. */
    CHECK_INT(fused_in("Act", saved, true, 0, text, sizeof text).bytes, MIB(30));
    CHECK(strstr(text, "gelu(x, approximate='tanh') in each Act") != NULL);
    CHECK_INT(fused_in("FastGelu", others, true, 0, text, sizeof text).bytes, MIB(40));
    CHECK(strstr(text, "gelu(x), with approximate='tanh' if it is by tanh, in each FastGelu"));
    /* Other activations have other formulas. */
    CHECK_INT(fused_in("Act", others, true, 0, text, sizeof text).bytes, 0);
    CHECK_INT(fused_in("Act", saved, false, 0, text, sizeof text).bytes, 0);
    CHECK_INT(fused_in("QuickGELU", others, true, 0, text, sizeof text).bytes, 0);
    CHECK_INT(fused_in("FastGelu", few, true, 0, text, sizeof text).bytes, 0);
}

/* ---- frozen parameters ---- */

TEST(parameters_without_a_gradient_are_frozen)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    struct db *db = script_record(&script);
    REQUIRE(db_exec(db, "UPDATE allocation SET tag = 1 WHERE seq = 10;"
                        "INSERT INTO tag VALUES(20,1,'head.weight'),(21,2,'head.weight');"
                        "UPDATE tag SET name = 'base.weight' WHERE id = 1;"
                        "UPDATE allocation SET tag = 20 WHERE seq = 11") == 0);
    struct levers levers = read_levers(db, &peak);
    CHECK_INT(levers.frozen, MIB(25));
    levers_clear(&levers);
    peak_clear(&peak);
    REQUIRE(db_exec(db, "DELETE FROM tag WHERE id = 21") == 0);
    levers = read_levers(db, &peak);
    CHECK_INT(levers.frozen, 0); /* nothing is known of gradients */
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* ---- all of them ---- */

/* With one of the two the peak is as low as with both. */
TEST(together_leaves_out_what_saves_nothing_more)
{
    struct script script = {0};
    struct peak peak;
    train(&script, &(struct model){0});
    script_tagged(&script, 20, SCRIPT_LIVES, MIB(100), BUILD, TAG_BUCKET);
    struct db *db = script_record(&script);
    struct levers levers = read_levers(db, &peak);
    CHECK(find(&levers, LEVER_BUCKET_VIEW) && find(&levers, LEVER_GRADIENTS_TO_NONE));
    CHECK(find(&levers, LEVER_TOGETHER) == NULL);
    for (size_t i = 0; i < levers.count; i++)
        CHECK(!levers.levers[i].joined);
    CHECK(levers.levers[levers.count - 1].changes);
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* ---- which stand first ---- */

enum { MOST = 3 };

/* By their place in `all`: "0 1 3". */
static const char *best_of(const struct levers *all, int64_t missing)
{
    static char text[64];
    const struct lever *best[MOST];
    size_t count = levers_best(all, missing, MOST, best);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%td", i ? " " : "",
                 best[i] - all->levers);
    return text;
}

TEST(a_change_that_costs_nothing_has_a_place)
{
    struct lever some[] = {
        {.kind = LEVER_HALF_BATCH, .bytes = 900, .estimated = true},
        {.kind = LEVER_CHECKPOINT, .bytes = 500},
        {.kind = LEVER_HELD, .bytes = 400, .at_most = true},
        {.kind = LEVER_HELD, .bytes = 100},
        {.kind = LEVER_RETAIN_GRAPH, .bytes = 50},
        {.kind = LEVER_TOGETHER, .bytes = 950},
    };
    struct levers all = {.levers = some, .count = 6};
    CHECK_STR(best_of(&all, LEVERS_NONE), "0 1 3");
    CHECK_STR(best_of(&all, 80), "0 1 3");
    /* it is not enough, and what it would replace is */
    CHECK_STR(best_of(&all, 300), "0 1 2");
    /* nor is what it replaces */
    CHECK_STR(best_of(&all, 450), "0 1 3");
    some[0].kind = LEVER_HELD;
    some[0].estimated = false;
    CHECK_STR(best_of(&all, LEVERS_NONE), "0 1 2");
    all.count = 2;
    CHECK_STR(best_of(&all, LEVERS_NONE), "0 1");
    all.count = 0;
    CHECK_STR(best_of(&all, LEVERS_NONE), "");
}

TEST(a_promise_stands_before_a_bound_of_its_size)
{
    struct lever some[] = {
        {.kind = LEVER_HELD, .bytes = 200, .at_most = true},
        {.kind = LEVER_CHECKPOINT, .bytes = 200},
        {.kind = LEVER_HELD, .bytes = 300, .at_most = true},
    };
    struct levers all = {.levers = some, .count = 3};
    CHECK_STR(best_of(&all, LEVERS_NONE), "2 1 0");
}

TEST(what_a_better_change_does_has_no_place)
{
    struct lever some[] = {
        {.kind = LEVER_DETACH, .bytes = 400, .estimated = true},
        {.kind = LEVER_RETAIN_GRAPH, .bytes = 400, .estimated = true},
        {.kind = LEVER_HALF_BATCH, .bytes = 30, .estimated = true},
    };
    struct levers all = {.levers = some, .count = 3};
    CHECK_STR(best_of(&all, LEVERS_NONE), "0 2");
    some[0].bytes = 100;
    CHECK_STR(best_of(&all, LEVERS_NONE), "1 0 2");
}

TEST(other_numbers_stand_behind)
{
    struct lever some[] = {
        {.kind = LEVER_NO_STATES, .bytes = 900, .estimated = true, .changes = true},
        {.kind = LEVER_EIGHT_BIT_STATES, .bytes = 800, .estimated = true, .changes = true},
        {.kind = LEVER_CHECKPOINT, .bytes = 300},
        {.kind = LEVER_HALF_BATCH, .bytes = 200, .estimated = true},
        {.kind = LEVER_SHARD_STATES, .bytes = 100, .at_most = true},
    };
    struct levers all = {.levers = some, .count = 5};
    CHECK_STR(best_of(&all, LEVERS_NONE), "2 3 4");
    all.count = 4;
    /* Nobody takes another optimizer for that. */
    CHECK_STR(best_of(&all, LEVERS_NONE), "2 3 1");
}

TEST(a_checkpoint_stands_before_another_dtype)
{
    struct lever some[] = {
        {.kind = LEVER_HALF_PRECISION, .bytes = 900, .at_most = true, .changes = true},
        {.kind = LEVER_AUTOCAST, .bytes = 700, .at_most = true, .changes = true},
        {.kind = LEVER_CHECKPOINT, .bytes = 500, .estimated = true, .changes = true},
        {.kind = LEVER_CHECKPOINT, .bytes = 480, .estimated = true, .changes = true},
        {.kind = LEVER_OFFLOAD_STATES, .bytes = 100, .estimated = true},
    };
    struct levers all = {.levers = some, .count = 5};
    CHECK_STR(best_of(&all, LEVERS_NONE), "4 2 0"); /* one of them */
    some[2].bytes = some[3].bytes = 400;
    CHECK_STR(best_of(&all, LEVERS_NONE), "4 0 2");
    some[2].bytes = some[3].bytes = 300; /* less than half of the others */
    CHECK_STR(best_of(&all, LEVERS_NONE), "4 0 1");
}

/* ---- several ranks ---- */

static char view[] = "views: the buckets (6 MiB)", other_view[] = "views: the buckets (4 MiB)",
            encode[] = "encode", decode[] = "decode";

TEST(of_ranks_the_highest_counts)
{
    struct lever some[] = {
        {.kind = LEVER_BUCKET_VIEW, .bytes = 300, .text = view},
        {.kind = LEVER_HELD, .bytes = 200, .text = encode},
        {.kind = LEVER_HELD, .bytes = 150, .text = decode},
        {.kind = LEVER_HALF_BATCH, .bytes = 500},
        {.kind = LEVER_FUSED_OPTIMIZER, .bytes = 100},
    };
    struct lever others[] = {
        {.kind = LEVER_BUCKET_VIEW, .bytes = 100, .text = other_view},
        {.kind = LEVER_HELD, .bytes = 90, .text = decode},
        {.kind = LEVER_HALF_BATCH, .bytes = 400, .estimated = true},
        {.kind = LEVER_FUSED_OPTIMIZER, .bytes = 50, .at_most = true},
    };
    struct levers one = {.levers = some, .count = 5, .peak = 1000};
    const struct levers other = {.levers = others, .count = 4, .peak = 950};
    const struct levers *ranks[] = {&one, &other};
    levers_over_ranks(&one, ranks, 1);
    CHECK_INT(levers_worth(&some[0]), 300); /* it is alone */
    levers_over_ranks(&one, ranks, 2);
    CHECK_INT(levers_worth(&some[0]), 150); /* the other is the highest then */
    CHECK_INT(levers_worth(&some[1]), 50);  /* which cannot do that */
    CHECK_INT(levers_worth(&some[2]), 140);
    CHECK_INT(levers_worth(&some[3]), 450);
    CHECK(levers_is_estimate(&some[3]) && !some[3].estimated);
    CHECK(levers_is_bound(&some[4]) && !levers_is_bound(&some[0]));
    CHECK_STR(best_of(&one, LEVERS_NONE), "3 0 2");
}

TEST_MAIN(TEST_CASE(of_ranks_the_highest_counts), TEST_CASE(other_numbers_stand_behind),
          TEST_CASE(a_checkpoint_stands_before_another_dtype),
          TEST_CASE(a_change_that_costs_nothing_has_a_place),
          TEST_CASE(a_promise_stands_before_a_bound_of_its_size),
          TEST_CASE(what_a_better_change_does_has_no_place),
          TEST_CASE(a_cache_is_of_no_use_in_training), TEST_CASE(an_answered_request_can_go),
          TEST_CASE(del_takes_all_that_goes_with_a_variable),
          TEST_CASE(a_forward_without_a_backward_retains_no_graph),
          TEST_CASE(a_graph_that_is_retained_is_named),
          TEST_CASE(the_optimizer_can_step_in_backward),
          TEST_CASE(modules_are_named_by_their_places),
          TEST_CASE(what_the_compiler_made_is_no_module),
          TEST_CASE(an_output_is_named_by_its_module), TEST_CASE(batch_norm_makes_other_numbers),
          TEST_CASE(a_row_gradient_of_a_parameters_size_is_halved),
          TEST_CASE(a_gelu_in_pieces_saves_more_than_its_input),
          TEST_CASE(parameters_without_a_gradient_are_frozen),
          TEST_CASE(together_leaves_out_what_saves_nothing_more))
