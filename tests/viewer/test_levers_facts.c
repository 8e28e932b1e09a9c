/*
 * Levers that go by what was seen in the graph of a loss: half a batch, a loss in chunks, attention
 * that is written out.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "levers_facts.h"
#include "levers_model.h"
#include "peak.h"

#define FACT(key, value) "INSERT INTO setting VALUES(1,NULL,'" key "','" value "');"

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

static void phases(struct script *script, int step)
{
    script_phase(script, "forward", step, at(step, FORWARD), at(step, LOSS) - 1);
    script_phase(script, "loss", step, at(step, LOSS), at(step, BACKWARD) - 1);
    script_phase(script, "backward", step, at(step, BACKWARD), at(step, END));
}

static void begin(struct script *script)
{
    *script = (struct script){0};
    script_phase(script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(script, 10, SCRIPT_LIVES, MIB(50), BUILD);
    for (int step = 0; step < 2; step++) {
        phases(script, step);
        script_block(script, at(step, FORWARD) + 1, at(step, BACKWARD) + 60, MIB(20), ENCODE);
    }
}

/* ---- what was seen ---- */

TEST(facts_are_read)
{
    static const char more[] = FACT("loss_compares", "8x8") FACT("loss_compares", "64x64")
        FACT("loss_compares", "128x128 sums") FACT("loss_logits", "head 8192x50257")
            FACT("loss_logits", "other 64x64") FACT("loss_logits", "head of it")
                FACT("attention", "10x512x77x16 dropout mask") FACT("attention", "10x512x512x-16")
                    FACT("attention", "1048577x2x2x2");
    struct script script;
    struct levers_facts facts;
    begin(&script);
    struct db *db = script_record(&script);
    REQUIRE(db_exec(db, more) == 0);
    CHECK_INT(levers_facts_read(db, 1, &facts), 0);
    CHECK(levers_facts_is_valid(&facts));
    CHECK_INT(facts.compared, 64);
    CHECK_INT(facts.sums, 128);
    REQUIRE(facts.logits_count == 2 && facts.attention_count == 1);
    CHECK(facts.logits[0].head && !facts.logits[1].head);
    CHECK_INT(facts.logits[0].rows, 8192);
    CHECK_INT(facts.logits[0].classes, 50257);
    CHECK_INT(facts.attention[0].keys, 77);
    CHECK(facts.attention[0].drops && facts.attention[0].masks && !facts.attention[0].scaled);
    CHECK_INT(levers_facts_read(db, 2, &facts), 0); /* another process */
    CHECK(facts.compared == 0 && facts.logits_count == 0 && facts.attention_count == 0);
    db_close(db);
}

/* ---- half a batch ---- */

TEST(half_a_batch_of_a_loss_that_compares_samples)
{
    struct script script;
    char text[600];
    begin(&script);
    struct lever lever = lever_with(&script, "", LEVER_HALF_BATCH, text, sizeof text);
    CHECK_INT(lever.bytes, MIB(10));
    CHECK(!lever.changes);
    CHECK(strstr(text, "same results unless the loss compares samples") != NULL);
    lever =
        lever_with(&script, FACT("loss_compares", "64x64"), LEVER_HALF_BATCH, text, sizeof text);
    CHECK_INT(lever.bytes, MIB(10));
    CHECK(lever.changes);
    CHECK(strstr(text, "may compare the samples of a batch (a table of 64 x 64)") != NULL);
    CHECK(strstr(text, "same results") == NULL);
    lever = lever_with(&script, FACT("loss_compares", "64x64 sums"), LEVER_HALF_BATCH, text,
                       sizeof text);
    CHECK(lever.changes);
    CHECK(strstr(text, "the loss uses sums over the batch (64 x 64): each half has its own") !=
          NULL);
    CHECK(strstr(text, "compare") == NULL);
    lever = lever_with(
        &script,
        FACT("loss_compares", "64x64") "UPDATE string SET text = 'batch_norm' WHERE id = 2",
        LEVER_HALF_BATCH, text, sizeof text);
    CHECK(strstr(text, "64 x 64") != NULL && strstr(text, "BatchNorm") != NULL);
}

/* Of half as many samples there is a quarter of the pairs. */
TEST(half_a_batch_has_a_quarter_of_the_pairs)
{
    static const struct {
        const char *more;
        int64_t bytes;
    } cases[] = {{"", MIB(10 + 2)},
                 {FACT("loss_compares", "1024x1024"), MIB(10 + 3)},
                 {FACT("loss_compares", "1024x1024 sums"), MIB(10 + 2)}};
    struct script script;
    char text[600];
    begin(&script);
    for (int step = 0; step < 2; step++)
        script_block(&script, at(step, LOSS) - 2, at(step, BACKWARD) + 30, MIB(4), DECODE);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lever lever =
            lever_with(&script, cases[i].more, LEVER_HALF_BATCH, text, sizeof text);
        CHECK_INT(lever.bytes, cases[i].bytes);
        CHECK_INT(lever.changes, i > 0);
    }
}

/* ---- a loss in chunks ---- */

/* Logits of 2,048 rows and 3,840 classes: 30 MiB. */
TEST(a_loss_in_chunks_takes_logits_of_a_layer)
{
#define ENTROPY "UPDATE string SET text = 'cross_entropy' WHERE text LIKE 'other%';"
    static const struct {
        const char *more;
        bool offered;
    } cases[] = {
        {ENTROPY, true},
        {ENTROPY FACT("loss_logits", "head 2048x3840"), true},
        {ENTROPY FACT("loss_logits", "other 2048x3840"), false},
        {ENTROPY FACT("loss_logits", "other 64x64") FACT("loss_logits", "head 2048x3840"), true},
        {ENTROPY FACT("loss_logits", "head 64x64") FACT("loss_logits", "other 2048x3840"), false},
        {ENTROPY FACT("loss_logits", "head 1024x3840"), true}, /* other steps have other rows */
        {ENTROPY FACT("loss_logits", "other 1024x3840"), false},
        {ENTROPY FACT("loss_logits", "other"), false}, /* an older PyTorch shows no sizes */
        {ENTROPY FACT("loss_logits", "other") FACT("loss_logits", "head"), true},
    };
    struct script script;
    char text[600];
    begin(&script);
    for (int step = 0; step < 2; step++) {
        script_block(&script, at(step, LOSS) - 2, at(step, BACKWARD) + 30, MIB(30), DECODE);
        script_block(&script, at(step, LOSS) + 1, at(step, BACKWARD) + 31, MIB(30), OTHER);
        script_block(&script, at(step, BACKWARD) + 10, at(step, BACKWARD) + 20, MIB(30),
                     BACKWARD_40);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_INT(lever_with(&script, cases[i].more, LEVER_CHUNKED_LOSS, text, sizeof text).bytes,
                  cases[i].offered ? MIB(315) / 4 : 0);
}

/* ---- attention ---- */

enum { TABLE = 10 << 20, VALUES = 10 * 512 * 16 * 4, KEPT = 10 * 512 * 4 };

struct attention {
    const char *class_name, *fact;
    int tables;
    bool no_values, on_host;
    bool lines;       /* the last table is made at another one */
    const char *then; /* the class of another one that does the same */
};

/* Tables of 10 x 512 x 512 numbers, of which the last one is saved, and a gradient of that size. */
static struct lever attention_in(const struct attention *given, char *text, size_t room)
{
    struct script script;
    char sql[800];
    begin(&script);
    for (int step = 0; step < 2; step++) {
        int64_t forward = at(step, FORWARD), backward = at(step, BACKWARD), next = forward + 10;
        for (int i = 0; i < given->tables; i++, next += 2)
            script_block(&script, next, i + 1 < given->tables ? next + 3 : backward + 40, TABLE,
                         given->lines && i + 1 == given->tables ? RNN : DECODE);
        if (!given->no_values)
            script_block(&script, next, backward + 41, VALUES, DECODE);
        if (given->then) { /* another module's */
            script_block(&script, next + 2, next + 5, TABLE, OTHER);
            script_block(&script, next + 4, next + 8, TABLE, OTHER);
            script_block(&script, next + 6, backward + 42, VALUES, OTHER);
        }
        script_block(&script, backward + 1, backward + 10, TABLE, BACKWARD_40);
        script_block(&script, backward + 2, backward + 12, TABLE, BACKWARD_41); /* another's */
    }
    snprintf(sql, sizeof sql,
             "INSERT INTO setting VALUES(1,NULL,'attention','%s');"
             "INSERT INTO module VALUES(1,'blocks.3.attn','%s'),(2,'blocks.3.mlp','Mlp');"
             "UPDATE allocation SET module=1 WHERE site IN (3,4,7);"
             "UPDATE allocation SET module=2 WHERE site=5;"
             "INSERT INTO module VALUES(3,'decoder','%s');"
             "UPDATE allocation SET module=3 WHERE site=8;"
             "UPDATE device SET kind='%s' WHERE id=1",
             given->fact, given->class_name, given->then ? given->then : "None",
             given->on_host ? "cpu" : "cuda");
    return lever_with(&script, sql, LEVER_FUSED_ATTENTION, text, room);
}

TEST(attention_that_is_written_out)
{
    char text[600];
    struct attention own = {.class_name = "Attn", .fact = "10x512x512x16", .tables = 2};
    struct lever lever = attention_in(&own, text, sizeof text);
    CHECK_INT(lever.bytes, 2 * TABLE - KEPT);
    CHECK(lever.estimated && !lever.at_most && !lever.changes);
    CHECK(strstr(text, "scaled_dot_product_attention(q, k, v) in place of") != NULL);
    CHECK(strstr(text, "Attn (blocks.3.attn)") != NULL && strstr(text, "2 tensors") != NULL);
    own.fact = "10x512x512x16 mask"; /* its copy may be kept */
    lever = attention_in(&own, text, sizeof text);
    CHECK(lever.at_most);
    CHECK(strstr(text, "is_causal=True or attn_mask") != NULL);
    own = (struct attention){"MultiheadAttention", "10x512x512x16", .tables = 3};
    lever = attention_in(&own, text, sizeof text);
    CHECK_INT(lever.bytes, 2 * TABLE - KEPT);
    CHECK(strstr(text, "need_weights=False") != NULL && strstr(text, "3 tensors") != NULL);
}

/* Which change it is hangs on the class of each. */
TEST(attention_of_two_classes)
{
    static const struct {
        const char *one, *other, *want;
    } cases[] = {
        {"Attn", "Decoder",
         "(q, k, v) in place of softmax(q @ k.T) @ v in Attn (blocks.3.attn) and "
         "Decoder (decoder): 2 tensors"},
        {"Attn", "Attn", "in Attn (blocks.3.attn, decoder): 2 tensors"},
        {"MultiheadAttention", "Decoder",
         "need_weights=False in calls of nn.MultiheadAttention (blocks.3.attn) and "
         "torch.nn.functional.scaled_dot_product_attention(q, k, v) in place of "
         "softmax(q @ k.T) @ v in Decoder (decoder): 2 tensors"},
    };
    char text[600];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct attention own = {cases[i].one, "10x512x512x16", .tables = 2,
                                      .then = cases[i].other};
        CHECK(attention_in(&own, text, sizeof text).bytes > 0);
        CHECK(strstr(text, cases[i].want) != NULL);
    }
}

/* Masked and not, or a batch of another size in half of the bytes: a block is of one of them. */
TEST(two_sorts_of_attention_of_one_size)
{
#define AND "'),(1,NULL,'attention','"
#define DTYPE "'),(1,NULL,'graph_dtype','"
    static const struct {
        const char *facts;
        bool at_most;
    } cases[] = {{"10x512x512x16" AND "10x512x512x16 mask", true},
                 {"10x512x512x16" AND "20x512x512x16" DTYPE "bfloat16" DTYPE "float32", false}};
    char text[600];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct attention own = {"Attn", cases[i].facts, .tables = 2};
        struct lever lever = attention_in(&own, text, sizeof text);
        CHECK_INT(lever.bytes, 2 * TABLE - KEPT);
        CHECK_INT(lever.at_most, cases[i].at_most);
    }
}

TEST(what_is_no_attention_to_be_fused)
{
    static const struct attention others[] = {
        {"Attn", "10x512x256x16", .tables = 2},                    /* of another size */
        {"Attn", "10x512x512x16", .tables = 1},                    /* one of it alone */
        {"Attn", "10x512x512x16", .tables = 2, .no_values = true}, /* no product behind it */
        {"Attn", "10x512x512x15", .tables = 2},                    /* no kernel has it */
        {"Attn", "10x512x512x16 scaled", .tables = 2},             /* PyTorch's own, of one line */
        {"Attn", "10x512x512x16 dropout", .tables = 2, .on_host = true},
    };
    char text[600];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CHECK_INT(attention_in(&others[i], text, sizeof text).bytes, 0);
    struct attention own = {"Attn", "10x512x512x16 scaled", .tables = 2, .lines = true};
    CHECK(attention_in(&own, text, sizeof text).bytes > 0);
    own = (struct attention){"Attn", "10x512x512x16 dropout", .tables = 2};
    CHECK(attention_in(&own, text, sizeof text).bytes > 0);
    CHECK(strstr(text, "dropout_p=") != NULL);
}

TEST_MAIN(TEST_CASE(facts_are_read), TEST_CASE(half_a_batch_of_a_loss_that_compares_samples),
          TEST_CASE(half_a_batch_has_a_quarter_of_the_pairs),
          TEST_CASE(a_loss_in_chunks_takes_logits_of_a_layer),
          TEST_CASE(attention_that_is_written_out), TEST_CASE(attention_of_two_classes),
          TEST_CASE(two_sorts_of_attention_of_one_size),
          TEST_CASE(what_is_no_attention_to_be_fused))
