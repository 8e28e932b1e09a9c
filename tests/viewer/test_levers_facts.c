/*
 * Levers that go by what was seen in the graph of a loss: half a batch, a loss in chunks.
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
    CHECK(strstr(text, "64 x 64") != NULL && strstr(text, "same results") == NULL);
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

TEST_MAIN(TEST_CASE(facts_are_read), TEST_CASE(half_a_batch_of_a_loss_that_compares_samples),
          TEST_CASE(half_a_batch_has_a_quarter_of_the_pairs),
          TEST_CASE(a_loss_in_chunks_takes_logits_of_a_layer))
