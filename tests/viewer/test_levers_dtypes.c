/*
 * Levers on dtypes: the model in bfloat16, and autocast.
 */
#include "test.h"

#include <stdio.h>
#include <string.h>

#include "levers_model.h"
#include "peak.h"

#define SET(key, value) "INSERT INTO setting VALUES(1,NULL,'" key "','" value "');"
#define PARAMETERS SET("parameter_dtype", "float32")
#define GRAPHS SET("graph_dtype", "float32")
/* Who makes the activations. */
#define PRODUCTS                                                                                   \
    "INSERT INTO string VALUES(60,'Linear.forward');"                                              \
    "INSERT INTO frame VALUES(60,60,NULL,NULL);UPDATE site SET frame=60 WHERE site=2 AND depth=0;"

static char last_text[200]; /* of the lever that was asked for last */

static struct lever lever_in(const struct script *script, const char *more, enum lever_kind kind)
{
    struct peak peak;
    struct db *db = script_record(script);
    REQUIRE(db_exec(db, more) == 0);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, kind);
    struct lever out = lever ? *lever : (struct lever){0};
    snprintf(last_text, sizeof last_text, "%s", out.text ? out.text : "");
    out.text = out.site_text = out.next_phase = NULL;
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return out;
}

static struct lever lever_with(const char *more, enum lever_kind kind)
{
    const struct model model = {0};
    struct script script = {0};
    train(&script, &model);
    return lever_in(&script, more, kind);
}

TEST(half_of_all_is_a_bound)
{
    /* 780 of float32; activations of a product, gradients and states surely are half: 250. */
    struct lever lever = lever_with(PARAMETERS GRAPHS PRODUCTS, LEVER_HALF_PRECISION);
    CHECK_INT(lever.bytes, MIB(390));
    CHECK(lever.at_most && lever.changes && !lever.estimated);
    CHECK(strstr(last_text, "tensors that forward() creates in float32") != NULL);
    /* The activations may be of code that casts: 150 is less than half of it. */
    CHECK_INT(lever_with(PARAMETERS GRAPHS, LEVER_HALF_PRECISION).bytes, 0);
}

TEST(autocast_halves_what_products_make)
{
    /* 2 x 100 of a product, logits and two gradients on their way that may be half. */
    struct lever lever = lever_with(PARAMETERS GRAPHS PRODUCTS, LEVER_AUTOCAST);
    CHECK_INT(lever.bytes, MIB(100 + 30 + 60));
    CHECK(lever.at_most && lever.changes);
    CHECK_INT(lever_with(PARAMETERS GRAPHS, LEVER_AUTOCAST).bytes, 0);
}

TEST(dtypes_have_to_be_known)
{
    static const char *const other[] = {
        PRODUCTS,
        PARAMETERS PRODUCTS,
        GRAPHS PRODUCTS,
        PARAMETERS GRAPHS SET("graph_dtype", "bfloat16") PRODUCTS,
        PARAMETERS GRAPHS SET("parameter_dtype", "uint8") PRODUCTS,
    };
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        CHECK_INT(lever_with(other[i], LEVER_HALF_PRECISION).bytes, 0);
        CHECK_INT(lever_with(other[i], LEVER_AUTOCAST).bytes, 0);
    }
}

/* What a block has beyond another of its call may be the rest of a segment. Convolutions of all
 * layers have one call site, but only those whose modules are alike ask for as much. */
TEST(rests_are_of_modules_that_are_alike)
{
    static const char modules[] = PARAMETERS GRAPHS PRODUCTS
        "INSERT INTO module VALUES(1,'layers.1.fc','Linear'),(2,'%s','Linear');"
        "UPDATE allocation SET module=seq%%10 WHERE site=2;";
    static const struct {
        const char *path;
        int64_t rest;
    } others[] = {{"layers.12.fc", MIB(1) / 2}, {"layers.12.proj", 0}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct script script = {0};
        char sql[1000];
        script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
        script_block(&script, 10, SCRIPT_LIVES, MIB(25), BUILD);
        for (int step = 0; step < 3; step++) {
            script_phase(&script, "forward", step, at(step, FORWARD), at(step, BACKWARD) - 1);
            script_phase(&script, "backward", step, at(step, BACKWARD), at(step, END));
            script_block(&script, at(step, FORWARD) + 1, at(step, BACKWARD) + 2, MIB(60), ENCODE);
            script_block(&script, at(step, FORWARD) + 2, at(step, BACKWARD) + 1,
                         MIB(60) + MIB(1) / 2, ENCODE);
        }
        snprintf(sql, sizeof sql, modules, others[i].path);
        CHECK_INT(lever_in(&script, sql, LEVER_HALF_PRECISION).bytes,
                  MIB(25 + 60 + 60) / 2 + MIB(1) / 4 + others[i].rest);
    }
}

/* A state is as large as its parameter, and what it has beyond that the rest of a segment. */
TEST(rests_of_states)
{
    static const int64_t beyond[] = {MIB(1) / 2, MIB(2)};
    for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
        struct script script = {0};
        script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
        script_block(&script, 10, SCRIPT_LIVES, MIB(25), BUILD);
        for (int step = 0; step < 3; step++) {
            script_phase(&script, "forward", step, at(step, FORWARD), at(step, BACKWARD) - 1);
            script_phase(&script, "backward", step, at(step, BACKWARD), at(step, OPTIMIZER) - 1);
            script_phase(&script, "optimizer", step, at(step, OPTIMIZER), at(step, END));
            script_block(&script, at(step, FORWARD) + 1, at(step, BACKWARD) + 2, MIB(60), ENCODE);
        }
        script_block(&script, at(0, OPTIMIZER) + 1, SCRIPT_LIVES, MIB(25), ADAM);
        script_block(&script, at(0, OPTIMIZER) + 2, SCRIPT_LIVES, MIB(25) + beyond[i], ADAM);
        CHECK_INT(lever_in(&script, PARAMETERS GRAPHS PRODUCTS, LEVER_HALF_PRECISION).bytes,
                  (MIB(3 * 25 + 60) + beyond[i]) / 2 + (beyond[i] < MIB(1) ? beyond[i] / 2 : 0));
    }
}

/* ---- what a forward makes, one after the other ---- */

#define NAMED(site, name) "UPDATE string SET text='" name "' WHERE id=" #site ";"

enum { KEPT = 40 }; /* an end from there on counts from the backward, which goes the other way */

struct made { /* a block, in MiB; of no site: an event without one */
    int site, mib, end;
};

/* Three steps of such a forward, and of a backward that makes what `after` has. */
static struct lever kind_of(const struct made *forward, const struct made *after, const char *more,
                            enum lever_kind kind)
{
    struct script script = {0};
    script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(&script, 10, SCRIPT_LIVES, MIB(25), BUILD);
    for (int step = 0; step < 3; step++) {
        const int64_t begin = at(step, FORWARD) + 1, back = at(step, BACKWARD);
        script_phase(&script, "forward", step, begin - 1, at(step, LOSS) - 1);
        script_phase(&script, "loss", step, at(step, LOSS), back - 1);
        script_phase(&script, "backward", step, back, at(step, OPTIMIZER) - 1);
        script_phase(&script, "optimizer", step, at(step, OPTIMIZER), at(step, END));
        for (int i = 0; forward[i].mib; i++)
            if (forward[i].site)
                script_block(&script, begin + i,
                             forward[i].end >= KEPT ? back + forward[i].end - i
                                                    : begin + forward[i].end,
                             MIB(forward[i].mib), forward[i].site);
        for (int i = 0; after && after[i].mib; i++)
            script_block(&script, back + 1 + i, back + after[i].end, MIB(after[i].mib),
                         after[i].site);
    }
    char sql[2000];
    snprintf(sql, sizeof sql, "%s%s", PARAMETERS GRAPHS, more);
    return lever_in(&script, sql, kind);
}

static struct lever lever_of(const struct made *forward, const struct made *after, const char *more)
{
    return kind_of(forward, after, more, LEVER_AUTOCAST);
}

/* What a module's own `forward` makes on lines without sums computes as it is told. */
TEST(what_has_no_name_most_likely_halves)
{
    static const struct made lines[] = {{ENCODE, 10, KEPT}, {RNN, 100, KEPT},   {RNN, 100, KEPT},
                                        {RNN, 100, KEPT},   {ENCODE, 10, KEPT}, {0}};
    static const struct made sums[] = {{ENCODE, 10, KEPT}, {RNN, 100, KEPT},   {RNN, 1, KEPT},
                                       {RNN, 100, KEPT},   {ENCODE, 10, KEPT}, {0}};
    static const struct made last[] = {
        {ENCODE, 10, KEPT}, {ENCODE, 10, KEPT}, {RNN, 100, KEPT}, {RNN, 100, KEPT}, {0}};
#define WRITTEN(name) NAMED(2, "Linear.forward") NAMED(7, name)
    struct lever lever = kind_of(lines, NULL, WRITTEN("MyAct.forward"), LEVER_HALF_PRECISION);
    CHECK_INT(2 * lever.bytes, MIB(25 + 10 + 3 * 100 + 10));
    CHECK(lever.at_most); /* it may cast, though */
    CHECK_INT(kind_of(lines, NULL, WRITTEN("MyNorm.forward"), LEVER_HALF_PRECISION).bytes, 0);
    CHECK_INT(kind_of(lines, NULL, WRITTEN("helper"), LEVER_HALF_PRECISION).bytes, 0);
    CHECK_INT(kind_of(sums, NULL, WRITTEN("MyAct.forward"), LEVER_HALF_PRECISION).bytes, 0);
    /* Behind the last product, it may be cast for the loss. */
    CHECK_INT(kind_of(last, NULL, WRITTEN("MyAct.forward"), LEVER_HALF_PRECISION).bytes, 0);
}

TEST(activation_in_pieces_has_its_power_in_float32)
{
    static const struct made forward[] = {
        {ENCODE, 100, KEPT}, /* a product */
        {RNN, 100, KEPT},    /* half of it */
        {RNN, 100, 4},       /* the power, and two more that go */
        {RNN, 100, 5},       {RNN, 100, 6},      {RNN, 100, KEPT}, /* tanh */
        {RNN, 100, KEPT},    {RNN, 100, KEPT},                     /* what comes out */
        {ENCODE, 300, KEPT}, {ENCODE, 10, KEPT}, {0},
    };
    static const char names[] = NAMED(2, "Linear.forward") NAMED(7, "NewGELUActivation.forward");
    /* Half of the first piece and of the product; while that is made, the output is still there. */
    CHECK_INT(lever_of(forward, NULL, names).bytes, MIB(50 + 150 + 10));
    /* In one piece it follows its input. */
    CHECK_INT(lever_of(forward, NULL, NAMED(2, "Linear.forward") NAMED(7, "GELU.forward")).bytes,
              MIB(5 * 50 + 150 + 5));
}

TEST(entropy_takes_its_softmax_in_bfloat16)
{
    static const struct made forward[] = {{ENCODE, 60, 90}, {DECODE, 60, KEPT}, {0}};
    static const struct made backward[] = {{BACKWARD_40, 60, 3}, {BACKWARD_40, 60, 10}, {0}};
    static const char names[] = NAMED(2, "Linear.forward") NAMED(3, "cross_entropy");
    /* Logits, softmax and two gradients were 240; logits and softmax in bfloat16, what is cast
     * of it and a gradient of that are 180. */
    CHECK_INT(lever_of(forward, backward, names).bytes, MIB(240 - 180));
    /* What is not of a product is in float32 already. */
    CHECK_INT(lever_of(forward, backward, NAMED(2, "embedding") NAMED(3, "cross_entropy")).bytes,
              0);
}

TEST(sum_with_what_is_float32_is_float32)
{
    static const struct made residual[] = {
        {OTHER, 100, KEPT}, {ENCODE, 100, 3}, {DECODE, 100, KEPT}, {0}};
    static const struct made saved[] = {
        {OTHER, 100, KEPT}, {ENCODE, 100, KEPT}, {DECODE, 100, KEPT}, {0}};
    static const struct made other[] = {
        {OTHER, 60, KEPT}, {ENCODE, 100, 3}, {DECODE, 100, KEPT}, {0}};
    static const char names[] = NAMED(2, "Linear.forward") NAMED(8, "layer_norm");
    /* A copy in place of what the product takes, and what it makes. */
    CHECK_INT(lever_of(residual, NULL, names).bytes, MIB(50 + 50));
    /* A sum needs nothing in backward: this is another operation, as an activation. */
    CHECK_INT(lever_of(saved, NULL, names).bytes, MIB(50 + 50 + 50));
    /* It has another shape: the third may be of the second alone. */
    CHECK_INT(lever_of(other, NULL, names).bytes, MIB(30 + 50 + 50));
}

/* Of the second and the third block of a forward. */
#define MODULES(class)                                                                             \
    "INSERT INTO module VALUES(1,'attn','" class "'),(2,'attn.q','Linear'),(3,'attn.k','Linear');" \
                                                 "UPDATE allocation SET module=seq%1000-100 "      \
                                                 "WHERE seq%1000 IN (102, 103);"

/* Both are a tensor that goes, and two that stay: an activation of a number times what a product
 * made, and softplus before its tanh, which a GPU's autocast computes in float32. */
TEST(a_number_leaves_the_dtype_as_it_is)
{
    static const struct made forward[] = {
        {OTHER, 100, KEPT}, {ENCODE, 100, KEPT}, {0, 1, 0},           {RNN, 100, 5},
        {RNN, 100, KEPT},   {RNN, 100, KEPT},    {ENCODE, 400, KEPT}, {0}};
    static const struct made backward[] = {{BACKWARD_40, 1, 60}, {0}};
#define WRITTEN_OUT                                                                                \
    NAMED(2, "Linear.forward")                                                                     \
    NAMED(7, "Block.forward")                                                                      \
    NAMED(8, "layer_norm")                                                                         \
    "INSERT INTO module VALUES(1,'b','Block');"                                                    \
    "UPDATE allocation SET module=1 WHERE site IN (4, 7);"
#define NUMBER                                                                                     \
    "INSERT INTO device VALUES(2,'cpu',-1,NULL,NULL);INSERT INTO heap VALUES(2,1,2,0,0,NULL);"     \
    "INSERT INTO allocation SELECT 1103+1000*s.value,2,0,8,8,0,0,1110+1000*s.value,7,NULL,NULL,1"  \
    " FROM json_each('[0,1,2]') s;"
    CHECK_INT(2 * lever_of(forward, backward, WRITTEN_OUT NUMBER).bytes, MIB(4 * 100 + 400 + 1));
    CHECK_INT(lever_of(forward, backward, WRITTEN_OUT).bytes, 0);
}

/* The copy of a weight, of this process's: a name may be another's, too. */
TEST(a_product_copies_the_weight_of_its_module)
{
    static const struct made forward[] = {{ENCODE, 100, KEPT}, {0}};
    static const struct made backward[] = {{BACKWARD_40, 10, 3}, {0}};
#define WEIGHT(path)                                                                               \
    NAMED(2, "Linear.forward")                                                                     \
    "INSERT INTO module VALUES(1,'fc','Linear');UPDATE tag SET name='" path "' WHERE id=1;"        \
    "UPDATE allocation SET tag=1 WHERE seq=10;"                                                    \
    "UPDATE allocation SET module=1 WHERE site IN (2,4);"                                          \
    "INSERT INTO tag VALUES(20,1,'fc.weight');"
    CHECK_INT(2 * lever_of(forward, backward, WEIGHT("fc.weight")).bytes, MIB(100 + 10 - 25));
    CHECK_INT(2 * lever_of(forward, backward, WEIGHT("other.weight")).bytes, MIB(100 + 10));
    /* Once, however often it is called. */
    static const struct made twice[] = {
        {ENCODE, 100, KEPT}, {OTHER, 2, KEPT}, {ENCODE, 100, KEPT}, {0}};
    CHECK_INT(2 * lever_of(twice, backward, WEIGHT("fc.weight") NAMED(8, "layer_norm")).bytes,
              MIB(100 + 2 + 100 + 10 - 25));
}

/* What a loss makes is float32, and has no module where the loss has none. */
TEST(as_large_as_a_loss_by_accident)
{
    static const struct made forward[] = {{ENCODE, 120, KEPT}, {DECODE, 60, KEPT}, {0}};
    static const struct made backward[] = {{BACKWARD_40, 60, 5}, {BACKWARD_40, 60, 5}, {0}};
#define LOSS_NAMES NAMED(2, "Linear.forward") NAMED(3, "mse_loss")
    CHECK_INT(lever_of(forward, backward, LOSS_NAMES).bytes, MIB(60));
    CHECK_INT(lever_of(forward, backward,
                       LOSS_NAMES "INSERT INTO module VALUES(1,'fc','Linear');"
                                  "UPDATE allocation SET module=1 WHERE site = 4;")
                  .bytes,
              MIB(60 + 30 + 30));
}

/* Each product of an attention takes what attention was given, and copies it. */
TEST(products_of_an_attention_stand_side_by_side)
{
    static const struct made forward[] = {
        {OTHER, 100, KEPT}, {ENCODE, 100, KEPT}, {ENCODE, 100, KEPT}, {0}};
#define NAMES NAMED(2, "Linear.forward") NAMED(8, "layer_norm")
    CHECK_INT(lever_of(forward, NULL, NAMES MODULES("SomeAttention")).bytes, MIB(100));
    CHECK_INT(lever_of(forward, NULL, NAMES MODULES("Block")).bytes, MIB(150));
}

/* A GPU's sum over many rows has partial sums in float32 for a moment, and flags. */
TEST(partial_sums_stay_float32)
{
    static const struct made forward[] = {{ENCODE, 100, KEPT}, {0}};
    static const struct made sums[] = {{BACKWARD_40, 64, 4}, {BACKWARD_40, 1, 3}, {0}};
    static const struct made other[] = {{BACKWARD_40, 64, 3}, {BACKWARD_40, 1, 4}, {0}};
    static const char names[] = NAMED(2, "Linear.forward");
    CHECK_INT(2 * kind_of(forward, sums, names, LEVER_HALF_PRECISION).bytes, MIB(25 + 100 + 1));
    CHECK_INT(2 * kind_of(forward, other, names, LEVER_HALF_PRECISION).bytes,
              MIB(25 + 100 + 64 + 1));
    CHECK_INT(2 * lever_of(forward, sums, names).bytes, MIB(100 + 1));
    CHECK_INT(2 * lever_of(forward, other, names).bytes, MIB(100 + 64 + 1));
}

/* Lines of a module called an attention, with a softmax among them: single operations, of which it
 * is not known what they take. */
TEST(an_attention_with_a_softmax_is_written_out)
{
    static const struct made forward[] = {{OTHER, 10, KEPT}, {ENCODE, 60, 2},     {RNN, 100, KEPT},
                                          {RNN, 100, KEPT},  {DECODE, 100, KEPT}, {0}};
#define ATTENTION(name)                                                                            \
    NAMED(2, "Linear.forward")                                                                     \
    NAMED(3, name)                                                                                 \
    NAMED(8, "layer_norm")                                                                         \
    NAMED(7, "MyAttention.forward")                                                                \
    "INSERT INTO module VALUES(1,'attn','MyAttention');"                                           \
    "UPDATE allocation SET module=1 WHERE site IN (3,7);"
    CHECK_INT(2 * lever_of(forward, NULL, ATTENTION("relu")).bytes, MIB(10 + 3 * 100));
    CHECK_INT(lever_of(forward, NULL, ATTENTION("softmax")).bytes, 0);
}

TEST_MAIN(TEST_CASE(half_of_all_is_a_bound), TEST_CASE(autocast_halves_what_products_make),
          TEST_CASE(dtypes_have_to_be_known), TEST_CASE(rests_are_of_modules_that_are_alike),
          TEST_CASE(what_has_no_name_most_likely_halves),
          TEST_CASE(activation_in_pieces_has_its_power_in_float32),
          TEST_CASE(entropy_takes_its_softmax_in_bfloat16),
          TEST_CASE(sum_with_what_is_float32_is_float32),
          TEST_CASE(a_number_leaves_the_dtype_as_it_is), TEST_CASE(as_large_as_a_loss_by_accident),
          TEST_CASE(a_product_copies_the_weight_of_its_module),
          TEST_CASE(products_of_an_attention_stand_side_by_side),
          TEST_CASE(partial_sums_stay_float32), TEST_CASE(rests_of_states),
          TEST_CASE(an_attention_with_a_softmax_is_written_out))
