/*
 * The arithmetic that the GPU samples are compared with: gradients against finite differences,
 * sizes against those of known models and of the simulated sample, Adam against its formula.
 */
#include "reference.h"
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 4, NUMBERS = 4096 };

static void fill(double *numbers, size_t count, unsigned long long seed)
{
    for (size_t i = 0; i < count; i++)
        numbers[i] = (double)ref_random(&seed);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * (1 + fabs(a) + fabs(b));
}

/* ---- recurrent layers ---- */

/* The loss: outputs times `pull`. */
static double rnn_loss(const struct ref_rnn *rnn, const double *weights, const double *x,
                       const double *pull)
{
    size_t outputs = LENGTH * rnn->directions * rnn->hidden;
    double *saved = calloc(ref_rnn_saved(rnn, LENGTH), sizeof *saved), *y, loss = 0;
    y = calloc(outputs, sizeof *y);
    REQUIRE(saved && y && ref_rnn_forward(rnn, weights, LENGTH, x, y, saved));
    for (size_t i = 0; i < outputs; i++)
        loss += y[i] * pull[i];
    free(saved);
    free(y);
    return loss;
}

static double slope(const struct ref_rnn *rnn, double *weights, double *x, const double *pull,
                    double *at)
{
    double old = *at, step = 1e-6;
    *at = old + step;
    double above = rnn_loss(rnn, weights, x, pull);
    *at = old - step;
    double below = rnn_loss(rnn, weights, x, pull);
    *at = old;
    return (above - below) / (2 * step);
}

static void check_rnn(struct ref_rnn rnn)
{
    double weights[NUMBERS], gradients[NUMBERS] = {0}, x[256], dx[256], pull[256], y[256];
    size_t count = ref_rnn_weights(&rnn), inputs = LENGTH * rnn.input, bad = 0;
    double *saved = calloc(ref_rnn_saved(&rnn, LENGTH), sizeof *saved);
    REQUIRE(saved && count <= NUMBERS);
    fill(weights, count, 1);
    fill(x, inputs, 2);
    fill(pull, LENGTH * rnn.directions * rnn.hidden, 3);
    REQUIRE(ref_rnn_forward(&rnn, weights, LENGTH, x, y, saved));
    REQUIRE(ref_rnn_backward(&rnn, weights, LENGTH, x, saved, pull, dx, gradients));
    for (size_t i = 0; i < count; i++)
        bad += !near(slope(&rnn, weights, x, pull, &weights[i]), gradients[i]);
    for (size_t i = 0; i < inputs; i++)
        bad += !near(slope(&rnn, weights, x, pull, &x[i]), dx[i]);
    CHECK_INT(bad, 0);
    free(saved);
}

TEST(gradients_of_recurrent_layers_are_slopes)
{
    for (int gru = 0; gru < 2; gru++)
        for (size_t directions = 1; directions <= 2; directions++)
            for (size_t layers = 1; layers <= 3; layers++)
                check_rnn((struct ref_rnn){gru, layers, directions, 3, 5});
}

/* One time step of one unit, written down: the order of the gates, and which bias the reset gate
 * is multiplied with. */
TEST(one_step_is_the_formula)
{
    const double s = 1 / (1 + exp(-0.3)), x = 1;
    /* weight_ih, weight_hh, bias_ih, bias_hh; the state before is zero */
    double lstm[16] = {0.1, 0, 0.2, 0.3, 9, 9, 9, 9, 0.2, 0, 0.1, 0, 0, 0, 0.1, 0};
    double gru[12] = {0.3, 0.3, 0.1, 9, 9, 9, 0, 0, 0.2, 0, 0, 0.4};
    double y, saved[64];
    struct ref_rnn shape = {.layers = 1, .directions = 1, .input = 1, .hidden = 1};
    REQUIRE(ref_rnn_forward(&shape, lstm, 1, &x, &y, saved));
    CHECK(near(y, s * tanh(s * tanh(0.4))));
    shape.gru = true;
    REQUIRE(ref_rnn_forward(&shape, gru, 1, &x, &y, saved));
    CHECK(near(y, (1 - s) * tanh(0.3 + s * 0.4)));
}

/* What is known of PyTorch's modules; the simulated sample's test has the same figures. */
TEST(weights_are_as_many_as_they_should_be)
{
    static const struct {
        struct ref_rnn rnn;
        size_t weights;
    } shapes[] = {
        {{false, 2, 1, 10, 20}, 5920},         {{true, 2, 1, 10, 20}, 4440},
        {{false, 1, 2, 8, 16}, 3328},          {{false, 2, 1, 512, 512}, 4202496},
        {{false, 2, 1, 1024, 1024}, 16793600},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        CHECK_INT(ref_rnn_weights(&shapes[i].rnn), shapes[i].weights);
}

/* `rnn_flatten --flatten` of samples/c begins with one block of all weights, rounded to 512 below
 * 1 MiB: the same arithmetic twice. */
TEST(sizes_are_those_of_the_simulated_sample)
{
    static const struct {
        const char *options;
        struct ref_rnn rnn;
    } models[] = {
        {"--layers=1 --one-way --input=16 --hidden=32", {false, 1, 1, 16, 32}},
        {"--layers=3 --input=24 --hidden=16", {false, 3, 2, 24, 16}},
        {"--layers=2 --input=40 --hidden=8 --gru", {true, 2, 2, 40, 8}},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char command[512], line[256] = "";
        unsigned long long found = 0;
        snprintf(command, sizeof command, SIMULATED " --flatten --csv --batch=1 --length=1 %s",
                 models[i].options);
        FILE *output = popen(command, "r");
        REQUIRE(output);
        while (fgets(line, sizeof line, output))
            if (strncmp(line, ",beginning,", 11) == 0)
                found = strtoull(line + 11, NULL, 10);
        CHECK_INT(pclose(output), 0);
        CHECK_INT(found, (ref_rnn_weights(&models[i].rnn) * 4 + 511) / 512 * 512);
    }
}

/* Each weight lies behind the one before, and none across another. */
TEST(weights_fill_their_space)
{
    struct ref_rnn rnn = {true, 3, 2, 7, 5};
    size_t next = 0;
    for (size_t cell = 0; cell < ref_cells(&rnn); cell++)
        for (int kind = 0; kind < REF_KINDS; kind++) {
            struct ref_weight weight = ref_weight_at(&rnn, cell, (enum ref_kind)kind);
            CHECK_INT(weight.offset, next);
            CHECK_INT(weight.rows, 15);
            next += weight.rows * weight.columns;
        }
    CHECK_INT(ref_rnn_weights(&rnn), next);
}

/* ---- the model ---- */

enum { WORDS = 6, INPUT = 3, HIDDEN = 4 };
static const struct ref_model model = {WORDS, {true, 1, 1, INPUT, HIDDEN}};
static const int tokens[LENGTH] = {1, 5, 1, 0}, targets[LENGTH] = {5, 1, 0, 2};

struct parts {
    double embedding[WORDS * INPUT], rnn[NUMBERS], weight[WORDS * HIDDEN], bias[WORDS];
};

static double model_loss(const struct parts *at, struct parts *gradients)
{
    struct ref_parameters parameters = {at->embedding, at->rnn, at->weight, at->bias};
    struct ref_gradients into = {gradients->embedding, gradients->rnn, gradients->weight,
                                 gradients->bias};
    double loss = 0;
    REQUIRE(ref_model_add(&model, &parameters, LENGTH, tokens, targets, 0.25, &loss, &into));
    return loss;
}

static size_t bad_slopes(struct parts *at, double *numbers, const double *gradients, size_t count)
{
    static struct parts unused;
    size_t bad = 0;
    for (size_t i = 0; i < count; i++) {
        double old = numbers[i];
        numbers[i] = old + 1e-6;
        double above = model_loss(at, &unused);
        numbers[i] = old - 1e-6;
        double below = model_loss(at, &unused);
        numbers[i] = old;
        bad += !near((above - below) / 2e-6, gradients[i]);
    }
    return bad;
}

TEST(gradients_of_the_model_are_slopes)
{
    static struct parts at, gradients;
    fill(at.embedding, WORDS * INPUT, 1);
    fill(at.rnn, ref_rnn_weights(&model.rnn), 2);
    fill(at.weight, WORDS * HIDDEN, 3);
    fill(at.bias, WORDS, 4);
    CHECK(model_loss(&at, &gradients) > 0);
    CHECK_INT(bad_slopes(&at, at.embedding, gradients.embedding, WORDS * INPUT), 0);
    CHECK_INT(bad_slopes(&at, at.rnn, gradients.rnn, ref_rnn_weights(&model.rnn)), 0);
    CHECK_INT(bad_slopes(&at, at.weight, gradients.weight, WORDS * HIDDEN), 0);
    CHECK_INT(bad_slopes(&at, at.bias, gradients.bias, WORDS), 0);
    CHECK(gradients.embedding[2 * INPUT] == 0); /* a word that does not occur */
}

/* All logits equal: each word has the same probability. */
TEST(the_loss_of_knowing_nothing_is_the_logarithm)
{
    static struct parts at, gradients;
    CHECK(near(model_loss(&at, &gradients), log(WORDS)));
}

/* ---- Adam ---- */

TEST(adam_goes_against_the_gradient)
{
    const struct ref_adam adam = {0.1, 0.9, 0.999, 1e-8};
    double weights[2] = {1, 1}, gradients[2] = {4, -0.5}, first[2] = {0}, second[2] = {0};
    ref_adam(&adam, 1, 2, weights, gradients, first, second);
    CHECK(near(weights[0], 0.9)); /* the first step is the rate, however large the gradient */
    CHECK(near(weights[1], 1.1));
    gradients[0] = 0;
    ref_adam(&adam, 2, 1, weights, gradients, first, second);
    double m = 0.9 * 0.1 * 4 / (1 - 0.81), v = 0.999 * 0.001 * 16 / (1 - 0.998001);
    CHECK(near(weights[0], 0.9 - 0.1 * m / (sqrt(v) + 1e-8)));
}

/* ---- comparing ---- */

TEST(a_difference_is_seen)
{
    const double want[3] = {1, -4, 0};
    const float same[3] = {1, -4, 0}, other[3] = {1, -4, 0.4f}, none[3] = {1, NAN, 0};
    CHECK(ref_difference(same, want, 3) == 0);
    CHECK(near(ref_difference(other, want, 3), 0.1f));
    CHECK(isinf(ref_difference(none, want, 3)));
}

TEST(random_numbers_are_spread)
{
    unsigned long long seed = 5;
    double sum = 0, squares = 0;
    for (int i = 0; i < 10000; i++) {
        double number = (double)ref_random(&seed);
        REQUIRE(number >= -1 && number < 1);
        sum += number;
        squares += number * number;
    }
    CHECK(fabs(sum) < 300);
    CHECK(fabs(squares - 10000 / 3.0) < 200);
}

TEST_MAIN(TEST_CASE(gradients_of_recurrent_layers_are_slopes), TEST_CASE(one_step_is_the_formula),
          TEST_CASE(weights_are_as_many_as_they_should_be),
          TEST_CASE(sizes_are_those_of_the_simulated_sample), TEST_CASE(weights_fill_their_space),
          TEST_CASE(gradients_of_the_model_are_slopes),
          TEST_CASE(the_loss_of_knowing_nothing_is_the_logarithm),
          TEST_CASE(adam_goes_against_the_gradient), TEST_CASE(a_difference_is_seen),
          TEST_CASE(random_numbers_are_spread))
