/*
 * Levers on dtypes: of operations without a name, whether a GPU's autocast computes them in
 * float32, by the lives of blocks and by what backward makes.
 */
#include "test.h"

#include <stdio.h>

#include "levers_model.h"
#include "peak.h"

enum { LINEAR = 1, ACT, NEXT, BLOCK }; /* modules */

struct made { /* a block: events behind the step's begin, MiB */
    int born, end, mib, site, module;
};

static void put_modules(const struct made *blocks, char *sql, size_t size)
{
    size_t used = (size_t)snprintf(
        sql, size,
        "INSERT INTO setting VALUES(1,NULL,'parameter_dtype','float32'),"
        "(1,NULL,'graph_dtype','float32');"
        "INSERT INTO module VALUES(1,'a','Linear'),(2,'act','Act'),(3,'b','Linear'),(4,'','Block');"
        "UPDATE string SET text='Linear.forward' WHERE id=2;"
        "UPDATE string SET text='Act.forward' WHERE id=7;"
        "UPDATE string SET text='layer_norm' WHERE id=8;");
    for (int i = 0; blocks[i].mib; i++)
        used += (size_t)snprintf(sql + used, size - used,
                                 "UPDATE allocation SET module=%d WHERE seq%%1000=%d AND seq>1000;",
                                 blocks[i].module, blocks[i].born);
}

/* Three steps of these blocks. The model has 24 MiB, and one that is a vector beside them. */
static int64_t autocast_of(const struct made *blocks, const char *more)
{
    struct script script = {0};
    struct peak peak;
    char sql[4000];
    script_phase(&script, "user", SCRIPT_OUTSIDE, 1, 99);
    script_block(&script, 10, SCRIPT_LIVES, MIB(24), BUILD);
    script_block(&script, 11, SCRIPT_LIVES, MIB(1), BUILD);
    for (int step = 0; step < 3; step++) {
        script_phase(&script, "forward", step, at(step, FORWARD), at(step, LOSS) - 1);
        script_phase(&script, "loss", step, at(step, LOSS), at(step, BACKWARD) - 1);
        script_phase(&script, "backward", step, at(step, BACKWARD), at(step, OPTIMIZER) - 1);
        script_phase(&script, "optimizer", step, at(step, OPTIMIZER), at(step, END));
        for (int i = 0; blocks[i].mib; i++)
            script_block(&script, at(step, blocks[i].born), at(step, blocks[i].end),
                         MIB(blocks[i].mib), blocks[i].site);
    }
    struct db *db = script_record(&script);
    put_modules(blocks, sql, sizeof sql);
    REQUIRE(db_exec(db, sql) == 0 && db_exec(db, more) == 0);
    struct levers levers = read_levers(db, &peak);
    const struct lever *lever = find(&levers, LEVER_AUTOCAST);
    int64_t bytes = lever ? lever->bytes : 0;
    levers_clear(&levers);
    peak_clear(&peak);
    db_close(db);
    return bytes;
}

/* A number of Python's, in each step. */
#define NUMBER(seq)                                                                                \
    "INSERT INTO device VALUES(2,'cpu',-1,NULL,NULL);INSERT INTO heap VALUES(2,1,2,0,0,NULL);"     \
    "INSERT INTO allocation SELECT " #seq "+1000*s.value,2,0,8,8,0,0,1190+1000*s.value,7,NULL,"    \
    "NULL,1 FROM json_each('[0,1,2]') s;"

/* x * (1 + erf(x)), and x + pow(x, 3): a tensor that goes, of one that stays. */
TEST(the_error_function_leaves_the_dtype_as_it_is)
{
    static const struct made erf[] = {
        {101, 440, 100, ENCODE, LINEAR},   {102, 105, 100, RNN, ACT},
        {104, 420, 100, RNN, ACT},         {106, 405, 100, RNN, ACT},
        {107, 403, 10, ENCODE, NEXT},      {404, 406, 10, BACKWARD_40, NEXT},
        {421, 422, 100, BACKWARD_40, ACT}, {423, 424, 100, BACKWARD_40, ACT},
        {425, 426, 100, BACKWARD_40, ACT}, {427, 428, 100, BACKWARD_40, ACT},
        {429, 442, 100, BACKWARD_40, ACT}, {0}};
    struct made power[12];
    size_t count = 0;
    for (size_t i = 0; i < 12; i++)
        if (erf[i].born != 421 && erf[i].born != 423)
            power[count++] = erf[i];
    CHECK_INT(2 * autocast_of(erf, NUMBER(1103)), MIB(3 * 100 + 10));
    CHECK_INT(autocast_of(power, NUMBER(1103)), 0);
}

/* Gates of a cell: what made each saved it, and so did their product. */
TEST(a_product_leaves_two_gradients)
{
    static const struct made gates[] = {
        {101, 110, 10, ENCODE, LINEAR},    {102, 445, 100, RNN, ACT},
        {103, 440, 100, RNN, ACT},         {104, 106, 100, RNN, ACT}, /* the product */
        {105, 405, 100, RNN, ACT},         {107, 403, 10, ENCODE, NEXT},
        {108, 402, 250, ENCODE, NEXT},     {404, 406, 10, BACKWARD_40, NEXT},
        {421, 446, 100, BACKWARD_40, ACT}, {422, 441, 100, BACKWARD_40, ACT},
        {423, 447, 100, BACKWARD_40, ACT}, {0}};
    struct made power[12];
    for (size_t i = 0; i < 12; i++) {
        power[i] = gates[i];
        if (gates[i].born == 421 || gates[i].born == 422)
            power[i].end = 430 + (int)i;
    }
    CHECK_INT(2 * autocast_of(gates, ""), MIB(10 + 300 + 10 + 250));
    CHECK_INT(autocast_of(power, ""), 0);
}

/* A gate times a state: the product lets the state go, what made the gate still needs that. */
TEST(a_product_lets_its_other_part_go)
{
    static const struct made gate[] = {
        {101, 110, 10, ENCODE, LINEAR},    {102, 420, 100, RNN, ACT}, /* a state */
        {103, 440, 100, RNN, ACT},                                    /* a gate */
        {104, 106, 100, RNN, ACT},                                    /* the product */
        {105, 405, 100, RNN, ACT},         {107, 403, 10, ENCODE, NEXT},
        {108, 402, 250, ENCODE, NEXT},     {404, 406, 10, BACKWARD_40, NEXT},
        {418, 422, 100, BACKWARD_40, ACT}, {419, 430, 100, BACKWARD_40, ACT},
        {421, 447, 100, BACKWARD_40, ACT}, {0}};
    struct made softplus[12];
    for (size_t i = 0; i < 12; i++) {
        softplus[i] = gate[i];
        if (gate[i].born == 418)
            softplus[i].born = 416;
    }
    CHECK_INT(2 * autocast_of(gate, ""), MIB(10 + 300 + 10 + 250));
    CHECK_INT(autocast_of(softplus, ""), 0);
}

/* What only a product needs in backward is there as the product's copy alone. */
TEST(a_copy_takes_the_place_of_what_only_a_product_needs)
{
    struct made forward[] = {{101, 460, 100, ENCODE, LINEAR},
                             {102, 450, 10, OTHER, ACT},
                             {103, 405, 200, RNN, BLOCK},
                             {104, 403, 100, ENCODE, NEXT},
                             {404, 406, 10, BACKWARD_40, NEXT},
                             {440, 441, 10, BACKWARD_40, BLOCK},
                             {0}};
    CHECK_INT(2 * autocast_of(forward, ""), MIB(100 + 200 + 100));
    forward[2].end = 445; /* another needs it, too */
    CHECK_INT(autocast_of(forward, ""), 0);
}

/* A residual around a norm is not what the norm makes. */
TEST(a_sum_goes_around_a_norm)
{
    struct made forward[] = {{101, 450, 100, ENCODE, LINEAR},     {102, 430, 100, OTHER, ACT},
                             {103, 105, 100, ENCODE, NEXT},       {104, 405, 100, RNN, BLOCK},
                             {106, 403, 10, OTHER, BLOCK},        {107, 402, 300, ENCODE, NEXT},
                             {425, 426, 10, BACKWARD_40, NEXT},   {431, 433, 100, BACKWARD_40, ACT},
                             {440, 441, 10, BACKWARD_40, LINEAR}, {0}};
    int64_t around = autocast_of(forward, "");
    forward[7].end = 445; /* its gradient goes on: the sum's is its own */
    CHECK_INT(2 * (around - autocast_of(forward, "")), MIB(100));
}

/* torch.exp(x), which autocast computes in float32, leaves the same behind as torch.tanh(x). A
 * module of that name says which it is; and on a CPU there is no difference. */
TEST(an_exponential_may_be_a_sigmoid)
{
    static const struct made forward[] = {
        {101, 470, 10, OTHER, BLOCK},        {102, 106, 100, ENCODE, LINEAR},
        {103, 420, 100, RNN, ACT},           {105, 403, 10, ENCODE, NEXT},
        {404, 406, 10, BACKWARD_40, NEXT},   {408, 440, 100, BACKWARD_40, ACT},
        {450, 460, 10, BACKWARD_40, LINEAR}, {0}};
    const int64_t all = MIB(10 + 100 + 100 + 10);
    CHECK_INT(autocast_of(forward, ""), 0);
    CHECK_INT(2 * autocast_of(forward, "UPDATE string SET text='Tanh.forward' WHERE id=7"), all);
    CHECK_INT(2 * autocast_of(forward, "UPDATE device SET kind='cpu'"), all);
}

/* What the helper saw in a graph: a letter for each operation that makes as many numbers. */
TEST(a_letter_says_what_an_operation_is)
{
#define LETTERS(text) "INSERT INTO setting VALUES(1,NULL,'autocast','26214400 " text "')"
    static const struct made forward[] = {
        {101, 470, 10, OTHER, BLOCK},        {102, 106, 100, ENCODE, LINEAR},
        {103, 420, 100, RNN, ACT},           {105, 403, 10, ENCODE, NEXT},
        {404, 406, 10, BACKWARD_40, NEXT},   {408, 440, 100, BACKWARD_40, ACT},
        {450, 460, 10, BACKWARD_40, LINEAR}, {0}};
    const int64_t all = MIB(10 + 100 + 100 + 10);
    CHECK_INT(2 * autocast_of(forward, LETTERS("mh")), all);
    CHECK(2 * autocast_of(forward, LETTERS("mf")) != all);
    CHECK_INT(autocast_of(forward, LETTERS("mo")), 0);
    CHECK_INT(autocast_of(forward, LETTERS("mhh")), 0); /* others made these blocks */
    CHECK_INT(autocast_of(forward, LETTERS("m")), 0);
    CHECK_INT(autocast_of(forward, "INSERT INTO setting VALUES(1,NULL,'autocast','mh')"), 0);
}

/* a.softmax(-1), on a line of an attention: it saves its output, in float32, and so does its
 * gradient come; the product behind it is given a copy, which is gone by then. */
TEST(a_softmax_without_a_name)
{
    static const struct made forward[] = {
        {101, 470, 10, OTHER, BLOCK},      {102, 470, 60, ENCODE, LINEAR},
        {103, 106, 100, RNN, ACT}, /* scores */
        {105, 420, 100, RNN, ACT},         {107, 415, 10, RNN, ACT},
        {404, 406, 10, BACKWARD_40, NEXT}, {410, 419, 100, BACKWARD_40, ACT},
        {412, 440, 100, BACKWARD_40, ACT}, {0}};
    CHECK_INT(2 * autocast_of(forward, "UPDATE string SET text='MyAttention.forward' WHERE id=7;"
                                       "UPDATE module SET class='MyAttention' WHERE id=2;"),
              MIB(10 + 60 + 10));
}

/* In place of what is in bfloat16 a norm needs its copy in float32. */
TEST(a_norm_is_given_a_copy)
{
    static const struct made forward[] = {{101, 430, 100, ENCODE, LINEAR},
                                          {102, 410, 100, OTHER, ACT},
                                          {103, 403, 10, ENCODE, NEXT},
                                          {104, 402, 250, ENCODE, NEXT},
                                          {404, 406, 10, BACKWARD_40, NEXT},
                                          {425, 427, 10, BACKWARD_40, ACT},
                                          {0}};
    CHECK_INT(2 * autocast_of(forward, ""), MIB(100 + 10 + 250));
}

/* F.normalize takes a number of each row first, and divides what it was given by them then: it
 * needs that and the copy. */
TEST(a_division_by_norms_needs_both)
{
    static const struct made forward[] = {
        {101, 430, 100, ENCODE, LINEAR},  {102, 429, 4, OTHER, ACT},
        {103, 410, 100, OTHER, ACT},      {104, 403, 10, ENCODE, NEXT},
        {105, 402, 400, ENCODE, NEXT},    {404, 406, 10, BACKWARD_40, NEXT},
        {425, 427, 10, BACKWARD_40, ACT}, {0}};
    /* Half of the linear's and the products', and of a copy; but the copy in float32. */
    CHECK_INT(2 * autocast_of(forward, "UPDATE string SET text='normalize' WHERE id=8"),
              MIB(100 + 100 + 10 + 400 - 200));
}

/* The gradient of what is in float32 is, too. */
TEST(a_gradient_is_as_its_tensor_is)
{
    struct made forward[] = {{101, 430, 100, ENCODE, LINEAR},   {102, 422, 100, OTHER, ACT},
                             {103, 403, 10, ENCODE, NEXT},      {104, 429, 250, ENCODE, NEXT},
                             {404, 406, 10, BACKWARD_40, NEXT}, {420, 424, 60, BACKWARD_40, ACT},
                             {425, 427, 10, BACKWARD_40, ACT},  {0}};
    CHECK_INT(2 * autocast_of(forward, ""), MIB(100 + 250));
    forward[5].module = BLOCK;
    CHECK_INT(2 * autocast_of(forward, ""), MIB(100 + 250 + 60));
}

/* gelu(norm(x)), without a name: what the norm made goes as backward is in its module. */
TEST(what_is_made_of_a_norm_is_float32)
{
    static const struct made forward[] = {
        {101, 470, 10, ENCODE, LINEAR},     {102, 430, 100, OTHER, ACT},
        {103, 460, 8, OTHER, ACT}, /* of its rows */
        {104, 440, 100, RNN, BLOCK},        {105, 107, 10, OTHER, LINEAR},
        {106, 403, 400, ENCODE, NEXT},      {404, 406, 10, BACKWARD_40, NEXT},
        {425, 426, 10, BACKWARD_40, BLOCK}, {0}};
    CHECK_INT(2 * autocast_of(forward, ""), MIB(10 + 400));
}

TEST_MAIN(TEST_CASE(the_error_function_leaves_the_dtype_as_it_is),
          TEST_CASE(a_product_leaves_two_gradients), TEST_CASE(a_product_lets_its_other_part_go),
          TEST_CASE(a_copy_takes_the_place_of_what_only_a_product_needs),
          TEST_CASE(a_sum_goes_around_a_norm), TEST_CASE(an_exponential_may_be_a_sigmoid),
          TEST_CASE(a_letter_says_what_an_operation_is), TEST_CASE(a_softmax_without_a_name),
          TEST_CASE(a_norm_is_given_a_copy), TEST_CASE(a_division_by_norms_needs_both),
          TEST_CASE(a_gradient_is_as_its_tensor_is), TEST_CASE(what_is_made_of_a_norm_is_float32))
