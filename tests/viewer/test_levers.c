/*
 * Levers on small recordings: each one where it applies, with its bytes, and where it almost does.
 *
 * The model: 100 MiB of parameters; forward makes two activations of 100 MiB and logits of 60;
 * backward has two gradients of 60 on their way at once, then lets the activations go, then makes
 * four gradients of 25. Adam's states are 200. Its peak is in step 1:
 * 100 + 100 gradients + 200 + 200 + 60 + 120 = 780.
 */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "instant.h"
#include "levers.h"
#include "db.h"
#include "error.h"
#include "mem.h"
#include "script.h"

enum { /* sites of script.c */
       BUILD = 1,
       ENCODE,
       DECODE,
       BACKWARD_40,
       BACKWARD_41,
       ADAM,
       RNN,
       OTHER,
       WARM_UP
};
enum { TAG_BUCKET = 6, TAG_WORKSPACE = 7 };
enum { ZERO = 0, FORWARD = 100, LOSS = 300, BACKWARD = 400, OPTIMIZER = 700, END = 799 };

struct model {
    int steps;
    bool none;          /* zero_grad sets gradients to None */
    bool no_zero_grad;  /* nobody zeroes */
    bool released;      /* logits go in backward */
    bool other_count;   /* of blocks of that size, in the first backward */
    int flight;         /* MiB of a gradient on its way; 0 = 60 */
    int activation_end; /* after backward began; 0 = 10 */
};

static int64_t at(int step, int offset)
{
    return 1000 + 1000 * step + offset;
}

static void phases_of(struct script *script, const struct model *model, int step)
{
    if (!model->no_zero_grad)
        script_phase(script, "zero_grad", step, at(step, ZERO), at(step, FORWARD) - 1);
    script_phase(script, "forward", step, at(step, FORWARD), at(step, LOSS) - 1);
    script_phase(script, "loss", step, at(step, LOSS), at(step, BACKWARD) - 1);
    script_phase(script, "backward", step, at(step, BACKWARD), at(step, OPTIMIZER) - 1);
    script_phase(script, "optimizer", step, at(step, OPTIMIZER), at(step, END));
}

/* Zeroed in place, a gradient stays, and the new values come and go. */
static void gradients_of(struct script *script, const struct model *model, int step)
{
    for (int i = 0; i < 4; i++) {
        int64_t born = at(step, BACKWARD) + 20 + 2 * i, end = born + 1;
        if (model->none)
            end = at(step + 1, ZERO) + 1 + i;
        else if (step == 0)
            end = SCRIPT_LIVES;
        script_block(script, born, end, MIB(25), BACKWARD_41);
    }
    if (model->other_count && step == 0)
        script_block(script, at(step, BACKWARD) + 40, at(step, BACKWARD) + 41, MIB(25),
                     BACKWARD_41);
}

static void step_of(struct script *script, const struct model *model, int step)
{
    int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD);
    int64_t flight = MIB(model->flight ? model->flight : 60);
    int64_t end = backward + (model->activation_end ? model->activation_end : 10);
    phases_of(script, model, step);
    script_block(script, forward + 1, end, MIB(100), ENCODE);
    script_block(script, forward + 2, end + 1, MIB(100), ENCODE);
    script_block(script, forward + 48, model->released ? backward + 12 : at(step + 1, FORWARD) + 50,
                 MIB(60), DECODE);
    script_block(script, backward + 1, backward + 5, flight, BACKWARD_40);
    script_block(script, backward + 2, backward + 6, flight, BACKWARD_40);
    gradients_of(script, model, step);
    for (int i = 0; i < 2 && step == 0; i++)
        script_block(script, at(step, OPTIMIZER) + 1 + i, SCRIPT_LIVES, MIB(100), ADAM);
}

static void train(struct script *script, const struct model *model)
{
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    for (int i = 0; i < 4; i++)
        script_block(script, 10 + i, SCRIPT_LIVES, MIB(25), BUILD);
    for (int step = 0; step < (model->steps ? model->steps : 3); step++)
        step_of(script, model, step);
}

/* ---- reading ---- */

static struct levers read_levers(struct db *db, struct peak *peak)
{
    struct levers levers;
    REQUIRE(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 0, peak) == 0);
    CHECK_INT(levers_read(db, peak, false, &levers), 0);
    CHECK(levers_is_valid(&levers));
    return levers;
}

static const struct lever *find(const struct levers *levers, enum lever_kind kind)
{
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].kind == kind)
            return &levers->levers[i];
    return NULL;
}

/* MiB of the largest of that kind; -1 = there is none. */
static int64_t worth(struct script *script, enum lever_kind kind, bool *at_most)
{
    struct peak peak;
    struct db *db = script_record(script);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, kind);
    int64_t bytes = lever ? lever->bytes : -MIB(1);
    if (at_most)
        *at_most = lever && lever->at_most;
    CHECK_INT(bytes % MIB(1), 0);
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return bytes / MIB(1);
}

static int64_t worth_of(const struct model *model, enum lever_kind kind, bool *at_most)
{
    struct script script = {0};
    train(&script, model);
    return worth(&script, kind, at_most);
}

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
    CHECK_INT(levers.count, 0);
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

TEST_MAIN(TEST_CASE(checkpoints_that_are_in_force_are_no_lever),
          TEST_CASE(without_a_backward_no_grad_is_the_lever),
          TEST_CASE(del_frees_what_autograd_did_not_save),
          TEST_CASE(a_refusal_is_lowered_where_it_was),
          TEST_CASE(what_the_program_holds_is_a_lever),
          TEST_CASE(what_goes_in_backward_is_not_held),
          TEST_CASE(what_an_earlier_step_left_is_gone_before_this_one),
          TEST_CASE(a_lever_is_worth_what_the_next_peak_leaves_of_it),
          TEST_CASE(what_came_before_the_steps_bounds_every_lever),
          TEST_CASE(what_came_before_bounds_nothing_of_some_steps),
          TEST_CASE(a_recording_that_ended_in_backward),
          TEST_CASE(a_step_that_was_cut_short_goes_by_the_one_before),
          TEST_CASE(zeroed_gradients_could_be_none),
          TEST_CASE(new_gradients_are_born_where_the_old_ones_were),
          TEST_CASE(gradients_that_are_none_are_no_lever),
          TEST_CASE(gradients_that_nobody_zeroes_are_no_lever),
          TEST_CASE(a_gradient_without_its_like_is_at_most),
          TEST_CASE(gradients_beside_their_buckets_could_be_views),
          TEST_CASE(buckets_of_other_sizes_are_no_twins), TEST_CASE(no_buckets_no_views),
          TEST_CASE(weights_that_are_packed_again_are_a_lever),
          TEST_CASE(what_only_looks_like_packed_weights_is_none),
          TEST_CASE(weights_that_are_one_block_are_flat), TEST_CASE(packed_weights_are_named_once),
          TEST_CASE(a_function_can_be_checkpointed), TEST_CASE(a_phase_can_be_checkpointed),
          TEST_CASE(equal_phases_can_each_be_checkpointed),
          TEST_CASE(what_only_moved_did_not_come_once), TEST_CASE(a_first_step_that_needs_more),
          TEST_CASE(what_comes_before_the_first_step), TEST_CASE(one_step_says_nothing_of_others),
          TEST_CASE(a_peak_in_a_later_step_is_no_transient),
          TEST_CASE(a_large_workspace_is_a_lever),
          TEST_CASE(a_small_one_and_gradients_on_their_way_are_none),
          TEST_CASE(what_backward_added_is_beside_what_is_as_large),
          TEST_CASE(without_steps_there_are_none_of_a_step),
          TEST_CASE(without_memory_there_is_an_error_and_no_leak))
