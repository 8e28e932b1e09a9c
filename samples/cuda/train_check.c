/*
 * train_check.c - the first step of train_step against the CPU: the loss, all gradients, and what
 * Adam made of the weights; and, if asked for, gradients against slopes of the GPU's own loss.
 */
#include "train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct expected {
    double loss;
    double *weight[PARTS], *gradient[PARTS];
};

/* The loss and all gradients with the first weights, one sequence after the other. */
static bool expect(const struct train *train, struct expected *expected)
{
    const struct options *options = train->options;
    struct ref_model model = {options->vocabulary, train->dnn.shape};
    size_t length = options->length, batch = options->batch;
    int *tokens = sim_memory(2 * length, sizeof *tokens), *targets = tokens + length;
    bool fine = true;
    for (size_t i = 0; i < PARTS; i++) {
        expected->weight[i] = gpu_doubles(train->part[i].host, train->part[i].count);
        expected->gradient[i] = sim_memory(train->part[i].count, sizeof(double));
    }
    struct ref_parameters parameters = {expected->weight[EMBEDDING], expected->weight[RNN],
                                        expected->weight[WEIGHT], expected->weight[BIAS]};
    struct ref_gradients gradients = {expected->gradient[EMBEDDING], expected->gradient[RNN],
                                      expected->gradient[WEIGHT], expected->gradient[BIAS]};
    for (size_t i = 0; i < batch && fine; i++) {
        for (size_t t = 0; t < length; t++) {
            tokens[t] = train->host_tokens[t * batch + i];
            targets[t] = train->host_targets[t * batch + i];
        }
        fine = ref_model_add(&model, &parameters, length, tokens, targets,
                             1 / (double)train_rows(train), &expected->loss, &gradients);
    }
    free(tokens);
    return fine;
}

static bool check_gradients(struct train *train, const struct expected *expected)
{
    float loss = (float)train->loss;
    bool fine = gpu_compare("loss", &loss, &expected->loss, 1);
    for (size_t i = 0; i < PARTS; i++) {
        char what[64];
        float *got = train_download(train, (enum part)i, &train->part[i].gradient);
        snprintf(what, sizeof what, "gradient, %s", part_names[i]);
        fine = gpu_compare(what, got, expected->gradient[i], train->part[i].count) && fine;
        free(got);
    }
    return fine;
}

/* Adam divides by what is near to zero, so it is given the gradients of the GPU. */
static bool check_adam(struct train *train, const struct expected *expected)
{
    bool fine = true;
    for (size_t i = 0; i < PARTS; i++) {
        size_t count = train->part[i].count;
        char what[64];
        float *gradient = train_download(train, (enum part)i, &train->part[i].gradient);
        float *got = train_download(train, (enum part)i, &train->part[i].weight);
        double *gradients = gpu_doubles(gradient, count);
        double *states = sim_memory(2 * count, sizeof *states);
        ref_adam(&train_adam, 1, count, expected->weight[i], gradients, states, states + count);
        snprintf(what, sizeof what, "weights, %s", part_names[i]);
        fine = gpu_compare(what, got, expected->weight[i], count) && fine;
        free(gradient);
        free(got);
        free(gradients);
        free(states);
    }
    return fine;
}

static double loss_with(struct train *train, enum part which, const float *weights)
{
    struct parameter *part = &train->part[which];
    if (which == RNN)
        dnn_put(&train->dnn, &part->weight, weights);
    else
        gpu_put(part->weight.address, weights, part->weight.bytes);
    train_forward(train);
    train_loss(train);
    struct tensor *made[] = {&train->x, &train->y, &train->reserve, &train->log_probabilities,
                             &train->losses};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        sim_drop(&train->gpu.sim, made[i]);
    return train->loss;
}

/* The largest gradient of each part, against how the loss changes when its weight does. The loss is
 * of single precision, so the change is made large, and compared within 5 %. */
static bool check_differences(struct train *train)
{
    double kept = train->loss, step = 0.02;
    bool all = true;
    for (size_t i = 0; i < PARTS; i++) {
        size_t most = 0, count = train->part[i].count;
        float *gradient = train_download(train, (enum part)i, &train->part[i].gradient);
        float *weights = train_download(train, (enum part)i, &train->part[i].weight);
        for (size_t k = 1; k < count; k++)
            most = fabsf(gradient[k]) > fabsf(gradient[most]) ? k : most;
        float old = weights[most];
        weights[most] = old + (float)step;
        double above = loss_with(train, (enum part)i, weights);
        weights[most] = old - (float)step;
        double below = loss_with(train, (enum part)i, weights);
        weights[most] = old;
        loss_with(train, (enum part)i, weights);
        double slope = (above - below) / (2 * step), want = (double)gradient[most];
        bool fine = fabs(slope - want) <= 0.05 * fabs(want) + 1e-4;
        printf("checked: slope of the loss, %-16s number %zu: %.6f, gradient %.6f%s\n",
               part_names[i], most, slope, want, fine ? "" : ": WRONG");
        all = all && fine;
        free(gradient);
        free(weights);
    }
    train->loss = kept;
    return all;
}

bool train_check(struct train *train, const char *behind)
{
    static struct expected expected;
    bool fine = true;
    if (train->options->no_check || train->options->memory || train->options->csv)
        return true;
    if (strcmp(behind, "backward") == 0) {
        fine = expect(train, &expected) && check_gradients(train, &expected);
        if (train->options->check)
            fine = check_differences(train) && fine;
        return fine;
    }
    if (strcmp(behind, "optimizer") != 0)
        return true;
    fine = check_adam(train, &expected);
    for (size_t i = 0; i < PARTS; i++) {
        free(expected.weight[i]);
        free(expected.gradient[i]);
    }
    return fine;
}
