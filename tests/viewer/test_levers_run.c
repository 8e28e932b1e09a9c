/*
 * Levers on a whole run: other steps, micro-batches and modules than those of the peak.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "db.h"
#include "levers.h"
#include "script.h"
#include "script_sites.h"

static const struct lever *find(const struct levers *levers, enum lever_kind kind)
{
    for (size_t i = 0; i < levers->count; i++)
        if (levers->levers[i].kind == kind)
            return &levers->levers[i];
    return NULL;
}

/* The largest of its kind, all zero if there is none; texts are of no use behind it. */
static char last_text[200]; /* of the lever that was asked for last */

static struct lever lever_of(const struct script *script, const char *sql, enum lever_kind kind)
{
    struct levers levers;
    struct peak peak;
    struct lever out = {0};
    struct db *db = script_record(script);
    REQUIRE(db_exec(db, sql) == 0);
    REQUIRE(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 0, &peak) == 0);
    REQUIRE(levers_read(db, &peak, false, &levers) == 0);
    CHECK(levers_is_valid(&levers));
    if (find(&levers, kind))
        out = *find(&levers, kind);
    snprintf(last_text, sizeof last_text, "%s", out.text ? out.text : "");
    out.next_phase = out.text = out.site_text = NULL;
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return out;
}

/* ---- steps and micro-batches ---- */

static int64_t at(int step, int offset)
{
    return 1000 * (step + 1) + offset;
}

/* `batches` times forward and backward, then the optimizer: 100 MiB of activations in each, 50 of
 * parameters before. */
static void step_of(struct script *script, int step, int batches)
{
    for (int i = 0; i < batches; i++) {
        int64_t begin = at(step, 200 * i);
        script_phase(script, "forward", step, begin, begin + 99);
        script_phase(script, "backward", step, begin + 100, begin + 199);
        script_block(script, begin + 10, begin + 150, MIB(100), ENCODE);
    }
    script_phase(script, "optimizer", step, at(step, 900), at(step, 950));
}

static void train(struct script *script, int steps, int batches)
{
    script_block(script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    for (int step = 0; step < steps; step++)
        step_of(script, step, batches);
}

TEST(each_micro_batch_of_a_step_is_checkpointed)
{
    struct script script = {0};
    train(&script, 3, 4);
    script_block(&script, at(1, 620), at(1, 630), MIB(20), OTHER);
    struct lever lever = lever_of(&script, "", LEVER_CHECKPOINT);
    CHECK_INT(lever.bytes, MIB(100 + 20 - 100)); /* births are there until their function is over */
    CHECK_INT(lever.next_step, 0);
}

/* Lightning and LBFGS run forward and backward inside of optimizer.step(closure): the optimizer's
 * own memory is what it takes behind them. */
TEST(a_closure_is_no_optimizer)
{
    struct script plain = {0}, closure = {0};
    for (int i = 0; i < 2; i++) {
        struct script *script = i ? &closure : &plain;
        train(script, 3, 1);
        script_block(script, at(0, 910), SCRIPT_LIVES, MIB(40), ADAM);
    }
    for (int i = 0; i < closure.phase_count; i++) {
        struct script_phase *phase = &closure.phases[i];
        if (strcmp(phase->kind, "optimizer") == 0) {
            phase->begin = at(phase->step, -1);
            closure.phases[i - 1].parent = closure.phases[i - 2].parent = i + 1;
        }
    }
    CHECK_INT(lever_of(&plain, "", LEVER_OFFLOAD_STATES).bytes, MIB(40));
    CHECK_INT(lever_of(&closure, "", LEVER_OFFLOAD_STATES).bytes, MIB(40));
}

/* The recording ended in the middle of step 2: of its forward a change would have freed as much. */
TEST(a_step_that_was_cut_short_bounds_nothing)
{
    struct script script = {0};
    train(&script, 2, 1);
    script_block(&script, at(1, 120), at(1, 130), MIB(20), OTHER);
    script_phase(&script, "forward", 2, at(2, 0), SCRIPT_LIVES);
    script_block(&script, at(2, 10), SCRIPT_LIVES, MIB(100), ENCODE);
    script_block(&script, at(2, 20), SCRIPT_LIVES, MIB(10), OTHER);
    struct lever lever = lever_of(&script,
                                  "UPDATE phase SET end_seq = 3050, ended = 'process end'"
                                  " WHERE step = 2",
                                  LEVER_CHECKPOINT);
    CHECK_INT(lever.bytes, MIB(20));
    CHECK_INT(lever.next_step, 0);
}

/* Before the first step 160 MiB were there, and no change of a step lowers that. But that is the
 * rest of a step where the recording began in the midst of one. */
TEST(what_an_armed_recording_begins_with_bounds_nothing)
{
    struct script script = {0};
    train(&script, 2, 1);
    script_block(&script, 20, 60, MIB(110), OTHER);
    script_block(&script, at(1, 120), at(1, 130), MIB(20), OTHER);
    CHECK_INT(lever_of(&script, "", LEVER_CHECKPOINT).bytes, MIB(10));
    CHECK_INT(lever_of(&script, "UPDATE process SET origin = 'armed'", LEVER_CHECKPOINT).bytes,
              MIB(20));
}

/* 200 MiB in the optimizer of step 2 bound what a change to forward can do in step 1. */
TEST(another_step_can_be_the_next_peak)
{
    struct script script = {0};
    train(&script, 3, 1);
    script_block(&script, at(1, 120), at(1, 130), MIB(150), OTHER);
    script_block(&script, at(2, 910), at(2, 930), MIB(220), OTHER);
    struct lever lever = lever_of(&script, "", LEVER_CHECKPOINT);
    CHECK_INT(lever.bytes, MIB(300 - 270));
    CHECK_INT(lever.next_step, 2);
}

/* What is asked about bounds it, too. */
TEST(steps_that_were_not_asked_about_bound_nothing)
{
    struct script script = {0};
    struct levers levers;
    struct peak peak;
    train(&script, 3, 1);
    script_block(&script, at(1, 120), at(1, 130), MIB(150), OTHER);
    script_block(&script, at(2, 910), at(2, 930), MIB(220), OTHER);
    struct db *db = script_record(&script);
    REQUIRE(peak_read(db, 1, 1, 0, 1, 0, &peak) == 0);
    REQUIRE(levers_read(db, &peak, true, &levers) == 0);
    const struct lever *lever = find(&levers, LEVER_CHECKPOINT);
    CHECK(lever && lever->bytes == MIB(100));
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
}

/* The logits of one micro-batch live until the next one's are made: long before the last backward
 * of the step. */
TEST(what_is_held_from_one_micro_batch_to_the_next)
{
    static const char names[] = "UPDATE string SET text = 'linear' WHERE text LIKE 'decode%';"
                                "UPDATE string SET text = 'cross_entropy' WHERE text LIKE 'other%'";
    struct script script = {0};
    train(&script, 2, 3);
    for (int step = 0; step < 2; step++)
        for (int i = 0; i < 3; i++) {
            int64_t begin = at(step, 200 * i);
            script_block(&script, begin + 20, i < 2 ? begin + 225 : at(step + 1, 25), MIB(60),
                         DECODE);
            script_block(&script, begin + 21, begin + 22, MIB(60), OTHER);
            script_block(&script, begin + 110, begin + 120, MIB(120), BACKWARD_40);
        }
    struct lever lever = lever_of(&script, names, LEVER_HELD);
    CHECK_INT(lever.bytes, MIB(60));
    CHECK(!lever.at_most);
}

/* ---- gradients ---- */

TEST(gradients_go_before_forward)
{
    struct script script = {0};
    for (int step = 0; step < 3; step++) {
        script_phase(&script, "forward", step, at(step, 0), at(step, 99));
        script_phase(&script, "zero_grad", step, at(step, 100), at(step, 199));
        script_phase(&script, "backward", step, at(step, 200), at(step, 299));
        script_phase(&script, "optimizer", step, at(step, 300), at(step, 399));
        script_block(&script, at(step, 10), at(step, 250), MIB(100), ENCODE);
        script_block(&script, at(step, 20), at(step, 30), MIB(50), OTHER);
        script_block(&script, at(step, 260), step < 2 ? at(step + 1, 150) : SCRIPT_LIVES, MIB(40),
                     BACKWARD_41);
    }
    struct lever lever = lever_of(&script, "", LEVER_ZERO_GRAD_EARLIER);
    CHECK_INT(lever.bytes, MIB(40));
    CHECK_INT(lever.next_step, 0);
    CHECK(!lever.at_most && !lever.estimated);
    /* A run that ends in its last forward: no zero_grad was left for those gradients. */
    script_phase(&script, "forward", 3, at(3, 0), at(3, 99));
    script_block(&script, at(3, 10), SCRIPT_LIVES, MIB(100), ENCODE);
    script_block(&script, at(3, 20), at(3, 30), MIB(50), OTHER);
    CHECK_INT(lever_of(&script, "", LEVER_ZERO_GRAD_EARLIER).bytes, MIB(40));
}

/* A critic's step, then a generator's, each with its own optimizer; the generator's gradients live
 * through the critic's forward. */
TEST(whose_zero_grad_of_two_optimizers)
{
    static const char modules[] = "INSERT INTO module VALUES(1,'','Critic'),(2,'G#2.net','Linear');"
                                  "UPDATE allocation SET module = 1 WHERE seq % 1000 = 80;"
                                  "UPDATE allocation SET module = 2 WHERE seq % 1000 = 240";
    struct script script = {0};
    for (int step = 0; step < 3; step++) {
        script_phase(&script, "zero_grad", step, at(step, 0), at(step, 8));
        script_phase(&script, "forward", step, at(step, 9), at(step, 49));
        script_phase(&script, "backward", step, at(step, 50), at(step, 99));
        script_phase(&script, "optimizer", step, at(step, 100), at(step, 149));
        script_phase(&script, "zero_grad", step, at(step, 150), at(step, 159));
        script_phase(&script, "forward", step, at(step, 160), at(step, 199));
        script_phase(&script, "backward", step, at(step, 200), at(step, 249));
        script_phase(&script, "optimizer", step, at(step, 250), at(step, 299));
        script_block(&script, at(step, 10), at(step, 70), MIB(100), ENCODE);
        script_block(&script, at(step, 20), at(step, 30), MIB(50), OTHER);
        script_block(&script, at(step, 80), step < 2 ? at(step + 1, 5) : SCRIPT_LIVES, MIB(20),
                     BACKWARD_40);
        script_block(&script, at(step, 240), step < 2 ? at(step + 1, 155) : SCRIPT_LIVES, MIB(40),
                     BACKWARD_41);
    }
    CHECK_INT(lever_of(&script, modules, LEVER_ZERO_GRAD_EARLIER).bytes, MIB(40));
    CHECK(strstr(last_text, "zero the gradients of G right after the optimizer") != NULL);
    CHECK_INT(lever_of(&script, "", LEVER_ZERO_GRAD_EARLIER).bytes, MIB(40));
    CHECK(strstr(last_text, "call optimizer.zero_grad() right after") != NULL);
    for (int i = 0; i < script.phase_count; i++) /* of one optimizer it is clear */
        if (script.phases[i].begin % 1000 == 100)
            script.phases[i].kind = script.phases[i].name = "user";
    CHECK_INT(lever_of(&script, modules, LEVER_ZERO_GRAD_EARLIER).bytes, MIB(40));
    CHECK(strstr(last_text, "call optimizer.zero_grad() right after") != NULL);
}

/* ---- optimizers ---- */

static const char fused_sql[] =
    "UPDATE string SET text = '_single_tensor_adamw' WHERE text LIKE 'adam%'";

TEST(a_fused_optimizer_makes_no_temporaries)
{
    struct script script = {0};
    train(&script, 2, 1);
    for (int i = 0; i < 4; i++) /* of two parameters, two lines each */
        script_block(&script, at(1, 910 + i), at(1, 920 + i), MIB(50), i % 2 ? ADAM : OTHER);
    CHECK_INT(lever_of(&script, "", LEVER_FUSED_OPTIMIZER).bytes, 0);
    CHECK_INT(lever_of(&script, fused_sql, LEVER_FUSED_OPTIMIZER).bytes, MIB(250 - 150));
    struct lever lever = lever_of(&script, fused_sql, LEVER_FUSED_OPTIMIZER);
    CHECK(!lever.at_most && !lever.estimated);
}

#define TORCH(version) "INSERT INTO setting VALUES(1, NULL, 'torch', '" version "');"

static int64_t worth_with(const struct script *script, const char *device, const char *torch,
                          enum lever_kind kind)
{
    char sql[1024];
    snprintf(sql, sizeof sql, "%s;UPDATE device SET kind = '%s';%s", fused_sql, device, torch);
    return lever_of(script, sql, kind).bytes;
}

/* Of the CPU's optimizers it came with 2.4. */
TEST(a_fused_optimizer_needs_its_version_of_torch)
{
    struct script script = {0};
    train(&script, 2, 1);
    for (int i = 0; i < 4; i++)
        script_block(&script, at(1, 910 + i), at(1, 920 + i), MIB(50), i % 2 ? ADAM : OTHER);
    CHECK_INT(worth_with(&script, "cpu", TORCH("1.13.0a0"), LEVER_FUSED_OPTIMIZER), 0);
    CHECK_INT(worth_with(&script, "cpu", TORCH("2.3.1+cpu"), LEVER_FUSED_OPTIMIZER), 0);
    CHECK_INT(worth_with(&script, "cpu", TORCH("2.10.0"), LEVER_FUSED_OPTIMIZER), MIB(100));
    CHECK_INT(worth_with(&script, "cpu", TORCH("git"), LEVER_FUSED_OPTIMIZER), MIB(100));
    CHECK_INT(worth_with(&script, "cuda", TORCH("1.13.0a0"), LEVER_FUSED_OPTIMIZER), MIB(100));
}

TEST(states_of_eight_bits_are_estimated)
{
    struct script script = {0};
    train(&script, 2, 1);
    script_block(&script, at(0, 910), SCRIPT_LIVES, MIB(80), ADAM);
    struct lever lever = lever_of(&script, "", LEVER_EIGHT_BIT_STATES);
    CHECK(lever.bytes > MIB(59) && lever.bytes < MIB(60));
    CHECK(lever.estimated);
    CHECK(strstr(last_text, ".AdamW8bit(") != NULL);
    static const char sgd[] = "UPDATE string SET text='SGD._init_group' WHERE id=6";
    CHECK_INT(lever_of(&script, sgd, LEVER_EIGHT_BIT_STATES).bytes, 0); /* it has one state */
    CHECK_INT(lever_of(&script, "", LEVER_NO_STATES).bytes, MIB(80));
    CHECK_INT(lever_of(&script, "", LEVER_SHARD_STATES).bytes, 0); /* of one parameter */
    struct script one = {0};
    train(&one, 2, 1);
    script_block(&one, at(0, 910), SCRIPT_LIVES, MIB(25), ADAM);
    CHECK(lever_of(&one, sgd, LEVER_EIGHT_BIT_STATES).bytes > MIB(18));
    CHECK(strstr(last_text, ".SGD8bit(") != NULL);
}

/* ---- batches ---- */

/* Activations are half as large, and the gradients of the first half are there in the second. */
TEST(half_a_batch_keeps_its_gradients)
{
    struct script script = {0};
    train(&script, 2, 1);
    for (int step = 0; step < 2; step++)
        script_block(&script, at(step, 120), at(step, 960), MIB(10), BACKWARD_40);
    CHECK_INT(lever_of(&script, "", LEVER_HALF_BATCH).bytes, MIB(50 - 10));
    script = (struct script){0};
    train(&script, 2, 2); /* these are added up already */
    for (int step = 0; step < 2; step++)
        script_block(&script, at(step, 120), at(step, 960), MIB(10), BACKWARD_40);
    CHECK_INT(lever_of(&script, "", LEVER_HALF_BATCH).bytes, MIB(50));
}

/* The words of half a batch, by whose the loop is. */
TEST(half_a_batch_is_written_where_the_loop_is)
{
    static const struct {
        const char *path;
        int micro_batches;
        const char *words;
    } cases[] = {
        {"train.py", 1, "batch.chunk(2)"},
        {"train.py", 4, "8 times backward() in place of 4, each loss divided by twice"},
        {"/site/transformers/trainer.py", 4, "twice gradient_accumulation_steps"},
        {"/site/transformers/models/bert/modeling_bert.py", 1, "batch.chunk(2)"},
        {"/site/lightning/pytorch/trainer/trainer.py", 1, "accumulate_grad_batches"},
        {"/site/pytorch_lightning/trainer/trainer.py", 1, "accumulate_grad_batches"},
        {"/site/lightning/pytorch/trainer/trainer.py'),(91,'/site/lightning/pytorch/loops/"
         "optimization/manual.py",
         1, "batch.chunk(2)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct script script = {0};
        char sql[200];
        struct peak peak;
        train(&script, 2, cases[i].micro_batches);
        for (int step = 0; step < 2; step++)
            script_block(&script, at(step, 120), at(step, 960), MIB(10), BACKWARD_40);
        snprintf(sql, sizeof sql, "INSERT INTO string VALUES(90,'%s')", cases[i].path);
        struct db *db = script_record(&script);
        REQUIRE(db_exec(db, sql) == 0);
        struct levers levers;
        REQUIRE(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 0, &peak) == 0);
        REQUIRE(levers_read(db, &peak, false, &levers) == 0);
        const struct lever *lever = find(&levers, LEVER_HALF_BATCH);
        CHECK(lever && strstr(lever->text, cases[i].words) != NULL);
        levers_clear(&levers);
        peak_clear(&peak);
        db_close(db);
    }
}

/* Twice as many micro-batches keep as much. */
TEST(half_a_batch_does_not_halve_what_steps_keep)
{
    struct script script = {0};
    train(&script, 9, 1);
    for (int step = 0; step < 9; step++)
        script_block(&script, at(step, 20), SCRIPT_LIVES, MIB(30), OTHER);
    CHECK_INT(lever_of(&script, "", LEVER_HALF_BATCH).bytes, MIB(50));
    script = (struct script){0};
    train(&script, 2, 4); /* a list of a step, of all its micro-batches */
    for (int step = 0; step < 2; step++)
        for (int i = 0; i < 4; i++)
            script_block(&script, at(step, 200 * i + 20), at(step, 940), MIB(30), OTHER);
    CHECK(lever_of(&script, "", LEVER_HALF_BATCH).bytes <= MIB(50 + 30));
}

TEST(a_loss_in_chunks_has_an_eighth_of_its_logits)
{
    static const char names[] = "UPDATE string SET text = 'cross_entropy' WHERE text LIKE 'other%'";
    struct script script = {0};
    train(&script, 2, 1);
    for (int step = 0; step < 2; step++) {
        script_block(&script, at(step, 20), at(step, 130), MIB(40), DECODE);
        script_block(&script, at(step, 21), at(step, 131), MIB(40), OTHER);
        script_block(&script, at(step, 110), at(step, 120), MIB(40), BACKWARD_40);
    }
    CHECK_INT(lever_of(&script, names, LEVER_CHUNKED_LOSS).bytes, MIB(3 * 35));
    /* of half a batch an eighth of a half, beside 50 of parameters and 50 of activations */
    CHECK_INT(lever_of(&script, names, LEVER_TOGETHER).bytes, MIB(270 - 100) - MIB(120) / 16);
    CHECK_INT(lever_of(&script, "", LEVER_CHUNKED_LOSS).bytes, 0);
    /* One block was not cut, and keeps 800 KiB of the segment's rest. */
    script = (struct script){0};
    train(&script, 2, 1);
    for (int step = 0; step < 2; step++) {
        script_block(&script, at(step, 20), at(step, 130), MIB(40), DECODE);
        script_block(&script, at(step, 21), at(step, 131), MIB(40), OTHER);
        script_block(&script, at(step, 110), at(step, 120), MIB(40) + (800 << 10), BACKWARD_40);
    }
    CHECK_INT(lever_of(&script, names, LEVER_CHUNKED_LOSS).bytes, MIB(3 * 35) + (700 << 10));
    script = (struct script){0};
    train(&script, 4, 1); /* logits that are kept stay whole */
    for (int step = 0; step < 4; step++)
        script_block(&script, at(step, 20), SCRIPT_LIVES, MIB(40), OTHER);
    CHECK_INT(lever_of(&script, names, LEVER_CHUNKED_LOSS).bytes, 0);
}

/* A head's output has a row for the last of 20 tokens, too, and half of the bytes of the float32
 * that the loss makes of it. */
TEST(a_head_makes_rows_that_the_loss_does_not_take)
{
    static const char names[] = "UPDATE string SET text = 'cross_entropy' WHERE text LIKE 'other%'";
    for (int halves = 1; halves <= 2; halves++) {
        struct script script = {0};
        train(&script, 2, 1);
        for (int step = 0; step < 2; step++) {
            script_block(&script, at(step, 18), at(step, 140), MIB(2), DECODE);
            script_block(&script, at(step, 20), at(step, 130), MIB(40) / halves, DECODE);
            script_block(&script, at(step, 21), at(step, 131), MIB(38), OTHER);
            script_block(&script, at(step, 110), at(step, 120), MIB(40) / halves, BACKWARD_40);
        }
        CHECK_INT(lever_of(&script, names, LEVER_CHUNKED_LOSS).bytes,
                  MIB(2 * 35) / halves + MIB(38) / 8 * 7);
    }
}

TEST(a_loss_that_is_computed_again_is_in_chunks)
{
    static const char names[] = "UPDATE string SET text = 'cross_entropy' WHERE text LIKE 'other%'";
    struct script script = {0};
    train(&script, 2, 1);
    for (int step = 0; step < 2; step++) {
        script_block(&script, at(step, 20), at(step, 25), MIB(40), DECODE);
        script_block(&script, at(step, 21), at(step, 26), MIB(40), OTHER);
        script_block(&script, at(step, 105), at(step, 107), MIB(40), OTHER);
        script_block(&script, at(step, 110), at(step, 120), MIB(40), BACKWARD_40);
    }
    CHECK_INT(lever_of(&script, names, LEVER_CHUNKED_LOSS).bytes, 0);
}

/* ---- steps that leave something ---- */

TEST(a_graph_that_every_step_leaves)
{
    struct script script = {0};
    train(&script, 5, 1);
    for (int step = 0; step < 5; step++)
        script_block(&script, at(step, 20), SCRIPT_LIVES, MIB(30), OTHER);
    struct lever lever = lever_of(&script, "", LEVER_DETACH);
    CHECK_INT(lever.bytes, MIB(4 * 30));
    CHECK_INT(lever_of(&script, "", LEVER_HELD).bytes, 0); /* no del in one step reaches it */
}

/* The list `kept` leads to blocks of OTHER, and the graphs of what is in it to those of DECODE:
 * detach() frees these alone, and to clear the list both. */
static struct script list_of_outputs(int most)
{
    struct script script = {0};
    train(&script, most, 1);
    for (int step = 0; step < most; step++) {
        script_block(&script, at(step, 20), SCRIPT_LIVES, MIB(30), OTHER);
        script_block(&script, at(step, 21), SCRIPT_LIVES, MIB(10), DECODE);
    }
    return script;
}

#define HELD_BY(nodes)                                                                             \
    "UPDATE allocation SET address = seq << 30;"                                                   \
    "INSERT INTO mark SELECT 1000000 + seq, 1, 1, 0, 'held by|list|kept|" nodes "', address, NULL" \
    "  FROM allocation WHERE size = 30 * 1048576;"

TEST(tensors_in_a_list_are_not_freed_by_detach)
{
    struct script script = list_of_outputs(9);
    struct lever lever = lever_of(&script, HELD_BY("9"), LEVER_BOUND);
    CHECK_INT(lever.bytes, MIB(8 * 40));
    CHECK(lever.estimated);
    CHECK_INT(lever_of(&script, HELD_BY("9"), LEVER_DETACH).bytes, MIB(8 * 10));
    CHECK_INT(lever_of(&script, HELD_BY("0"), LEVER_BOUND).bytes, MIB(8 * 30));
    CHECK_INT(lever_of(&script, "", LEVER_BOUND).bytes, 0);
    CHECK_INT(lever_of(&script, "", LEVER_DETACH).bytes, MIB(8 * 40));
}

TEST(what_one_step_leaves_to_the_next_is_no_leak)
{
    struct script script = {0};
    train(&script, 5, 1);
    for (int step = 0; step < 5; step++)
        script_block(&script, at(step, 20), at(step + 1, 30), MIB(30), OTHER);
    CHECK_INT(lever_of(&script, "", LEVER_DETACH).bytes, 0);
}

/* ---- together ---- */

TEST(all_together_are_worth_more_than_each)
{
    static const char names[] = "UPDATE string SET text = 'linear' WHERE text LIKE 'decode%';"
                                "UPDATE string SET text = 'relu' WHERE text LIKE 'other%';"
                                "UPDATE string SET text = '_single_tensor_adamw' WHERE text LIKE "
                                "'adam%'";
    struct script script = {0};
    train(&script, 2, 1);
    for (int step = 0; step < 2; step++) {
        script_block(&script, at(step, 20), at(step, 970), MIB(60), DECODE);
        script_block(&script, at(step, 21), at(step, 22), MIB(60), OTHER);
        script_block(&script, at(step, 110), at(step, 120), MIB(90), BACKWARD_40);
        script_block(&script, at(step, 910), at(step, 920), MIB(170), ADAM);
    }
    /* 300 in backward, 280 in the optimizer; without the variable 270 in forward, 240 and 220 */
    CHECK_INT(lever_of(&script, names, LEVER_HELD).bytes, MIB(30));
    CHECK_INT(lever_of(&script, names, LEVER_FUSED_OPTIMIZER).bytes, 0);
    script_block(&script, at(1, 911), at(1, 921), MIB(60), ADAM);
    /* 340 in the optimizer, of which the variable has 60 */
    CHECK_INT(lever_of(&script, names, LEVER_FUSED_OPTIMIZER).bytes, MIB(40));
    CHECK_INT(lever_of(&script, names, LEVER_HELD).bytes, MIB(60));
    struct lever lever = lever_of(&script, names, LEVER_TOGETHER);
    /* and with half a batch, which is an estimate, 50 of parameters and 110 of activations */
    CHECK_INT(lever.bytes, MIB(340 - 160));
    CHECK(!lever.at_most && lever.estimated);
    CHECK(strstr(last_text, "half the micro-batch") != NULL);
}

/* ---- modules ---- */

/* Blocks of sites 2 and 3 come from Block.forward, called by Model.forward in line 5; those of site
 * 8 from Model.forward itself. */
static const char modules_sql[] =
    "INSERT INTO string VALUES(50,'Block.forward'),(51,'Model.forward'),(52,'m.py');"
    "INSERT INTO frame VALUES(50,50,52,9),(51,51,52,5),(52,51,52,7),(53,50,52,10);"
    "INSERT INTO site VALUES(2,1,50),(2,2,51),(3,1,53),(3,2,51),(8,1,52)";

/* Three calls, each with an activation of 40 MiB, one of 8 that computing again takes for a moment,
 * and an output of 10 that the next one's backward needs; then a head with 30. Scaled, the output
 * is made of another as large, by the same line. */
static void forward_of(struct script *script, int step, int64_t begin, bool scaled)
{
    int64_t backward = begin + 100;
    script_phase(script, "forward", step, begin, begin + 99);
    script_phase(script, "backward", step, backward, begin + 199);
    script_block(script, begin + 50, backward + 4, MIB(30), OTHER);
    for (int i = 0; i < 3; i++) {
        int64_t born = begin + 10 * (i + 1), node = backward + 10 * (3 - i);
        script_block(script, born + 1, born + 3, MIB(8), ENCODE);
        script_block(script, born + 2, node + 5, MIB(40), DECODE);
        if (scaled)
            script_block(script, born + 4, born + 6, MIB(10), DECODE);
        int64_t end = scaled ? node + 4 : i == 2 ? backward + 5 : node - 5 + 1;
        script_block(script, born + 4 + scaled, end, MIB(10), DECODE);
        script_block(script, node + 2, node + 8, MIB(5), BACKWARD_40);
    }
    script_block(script, backward + 1, backward + 3, MIB(25), BACKWARD_41);
}

TEST(a_module_is_computed_again_call_by_call)
{
    struct script script = {0};
    script_block(&script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
    for (int step = 0; step < 2; step++)
        for (int i = 0; i < 2; i++)
            forward_of(&script, step, at(step, 400 * i), false);
    struct lever lever = lever_of(&script, modules_sql, LEVER_CHECKPOINT);
    /* The peak has 50, three times 50, 30 and 25. With it: outputs, head and the gradient, 135; in
     * the last call's backward outputs of two, 48 for a moment, then 40 and 5. */
    CHECK_INT(lever.bytes, MIB(255 - 135));
    CHECK(!lever.at_most && lever.estimated); /* a GPU's kernels may have temporaries there */
    CHECK_INT(lever.next_step, 0);
    char on_host[2000];
    snprintf(on_host, sizeof on_host, "%s;UPDATE device SET kind='cpu'", modules_sql);
    lever = lever_of(&script, on_host, LEVER_CHECKPOINT);
    CHECK(lever.bytes > MIB(255 - 136) && !lever.at_most && !lever.estimated);
}

/* What goes at once is not what a call leaves to others. */
TEST(a_call_leaves_what_lives_on)
{
    struct script script = {0};
    script_block(&script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
    for (int step = 0; step < 2; step++)
        forward_of(&script, step, at(step, 0), true);
    CHECK_INT(lever_of(&script, modules_sql, LEVER_CHECKPOINT).bytes, MIB(255 - 135));
}

TEST(a_module_that_is_computed_again_is_no_lever)
{
    struct script script = {0};
    script_block(&script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
    forward_of(&script, 0, at(0, 0), false);
    forward_of(&script, 1, at(1, 0), false);
    int id = script_phase(&script, "recompute", 0, at(0, 150), at(0, 155));
    script.phases[id - 1].parent = 3;
    CHECK_INT(lever_of(&script, modules_sql, LEVER_CHECKPOINT).bytes, 0);
}

/* Three blocks keep 40 MiB each and leave 40 to the next; the model's head makes logits of 100, of
 * which the loss makes as much again, and backward two gradients. */
static void model_of(struct script *script, int step)
{
    const int64_t begin = at(step, 0), backward = begin + 100;
    script_phase(script, "forward", step, begin, begin + 99);
    script_phase(script, "backward", step, backward, begin + 199);
    for (int i = 0; i < 3; i++) {
        int64_t born = begin + 10 * (i + 1), node = backward + 10 * (4 - i);
        script_block(script, born + 2, node + 5, MIB(40), ENCODE);
        script_block(script, born + 4, node - 4, MIB(40), DECODE);
        script_block(script, node + 2, node + 8, MIB(5), BACKWARD_40);
    }
    script_block(script, begin + 50, backward + 10, MIB(20), RNN);
    script_block(script, begin + 60, begin + 65, MIB(100), RNN);
    script_block(script, begin + 62, backward + 4, MIB(100), OTHER);
    script_block(script, backward + 1, backward + 5, MIB(100), BACKWARD_40);
    script_block(script, backward + 3, backward + 22, MIB(100), BACKWARD_40);
}

/* Of the whole model it takes more off alone, and computes the logits again: in chunks of the loss
 * each block's takes more. */
TEST(together_takes_the_checkpoint_that_fits_in)
{
    static const struct {
        const char *loss;
        int64_t together;
    } cases[] = {{"cross_entropy", 471}, {"other", 380}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct script script = {0};
        struct levers levers;
        struct peak peak;
        char sql[1000];
        script_block(&script, 10, SCRIPT_LIVES, MIB(50), BUILD);
        script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
        for (int step = 0; step < 2; step++)
            model_of(&script, step);
        snprintf(sql, sizeof sql,
                 "%s;DELETE FROM site WHERE site=8 AND depth=1;INSERT INTO site VALUES(7,1,52);"
                 "UPDATE string SET text='linear' WHERE id=7;"
                 "UPDATE string SET text='%s' WHERE text LIKE 'other%%'",
                 modules_sql, cases[i].loss);
        struct db *db = script_record(&script);
        REQUIRE(db_exec(db, sql) == 0);
        REQUIRE(peak_read(db, 1, 1, INT64_MIN, INT64_MAX, 0, &peak) == 0);
        REQUIRE(levers_read(db, &peak, false, &levers) == 0);
        const struct lever *model = find(&levers, LEVER_CHECKPOINT);
        const struct lever *together = find(&levers, LEVER_TOGETHER);
        REQUIRE(model && together && model[1].kind == LEVER_CHECKPOINT);
        CHECK(strstr(model->text, "Model") && strstr(model[1].text, "each Block"));
        CHECK_INT(model->bytes, MIB(200));
        CHECK_INT(model[1].bytes, MIB(120));
        CHECK(model->joined == (i == 1) && model[1].joined == (i == 0));
        CHECK_INT(together->bytes >> 20, cases[i].together);
        CHECK_STR(
            together->text,
            i ? "all of these: checkpoint Model, half the micro-batch"
              : "all of these: checkpoint each Block, loss in 8 chunks, half the micro-batch");
        levers_clear(&levers);
        peak_clear(&peak);
        db_close(db);
    }
}

TEST_MAIN(
    TEST_CASE(whose_zero_grad_of_two_optimizers),

    TEST_CASE(together_takes_the_checkpoint_that_fits_in),
    TEST_CASE(a_step_that_was_cut_short_bounds_nothing),
    TEST_CASE(what_an_armed_recording_begins_with_bounds_nothing),
    TEST_CASE(a_closure_is_no_optimizer), TEST_CASE(each_micro_batch_of_a_step_is_checkpointed),
    TEST_CASE(another_step_can_be_the_next_peak),
    TEST_CASE(steps_that_were_not_asked_about_bound_nothing),
    TEST_CASE(what_is_held_from_one_micro_batch_to_the_next),
    TEST_CASE(gradients_go_before_forward), TEST_CASE(a_fused_optimizer_makes_no_temporaries),
    TEST_CASE(a_fused_optimizer_needs_its_version_of_torch),
    TEST_CASE(states_of_eight_bits_are_estimated), TEST_CASE(half_a_batch_keeps_its_gradients),
    TEST_CASE(half_a_batch_is_written_where_the_loop_is),
    TEST_CASE(half_a_batch_does_not_halve_what_steps_keep),
    TEST_CASE(a_loss_in_chunks_has_an_eighth_of_its_logits),
    TEST_CASE(a_head_makes_rows_that_the_loss_does_not_take),
    TEST_CASE(a_loss_that_is_computed_again_is_in_chunks),
    TEST_CASE(a_graph_that_every_step_leaves), TEST_CASE(tensors_in_a_list_are_not_freed_by_detach),
    TEST_CASE(what_one_step_leaves_to_the_next_is_no_leak),
    TEST_CASE(all_together_are_worth_more_than_each),
    TEST_CASE(a_module_is_computed_again_call_by_call), TEST_CASE(a_call_leaves_what_lives_on),
    TEST_CASE(a_module_that_is_computed_again_is_no_lever))
