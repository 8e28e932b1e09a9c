/* Which gradients go into which bucket, and the arithmetic of the model that has them. */
#include "buckets.h"
#include "reference.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

static struct bucket_plan plan;

TEST(one_bucket_for_all)
{
    buckets_plan(&plan, 12, 1024, UINT64_MAX, UINT64_MAX);
    CHECK(buckets_is_valid(&plan));
    CHECK_INT(plan.count, 1);
    CHECK_INT(plan.bucket[0].bytes, 12 * (1024 * 1024 + 1024) * 4);
    CHECK_INT(plan.bucket[0].first, 23);
    CHECK_INT(plan.bucket[0].last, 0);
}

/* Layers of 4 MiB and 4 KiB: the first is closed by the first weight, the next takes seven
 * to have 25 MiB, and four are left. */
TEST(caps_of_1_and_25_mib)
{
    buckets_plan(&plan, 12, 1024, 1 << 20, 25 << 20);
    CHECK(buckets_is_valid(&plan));
    CHECK_INT(plan.count, 3);
    CHECK_INT(plan.bucket[0].bytes, (4 << 20) + 4096);
    CHECK_INT(plan.bucket[1].bytes, 7 * ((4 << 20) + 4096));
    CHECK_INT(plan.bucket[2].bytes, 4 * ((4 << 20) + 4096));
    CHECK_INT(buckets_total(&plan), 12 * ((4 << 20) + 4096));
}

TEST(a_bucket_for_each)
{
    buckets_plan(&plan, 5, 16, 1, 1);
    CHECK(buckets_is_valid(&plan));
    CHECK_INT(plan.count, 10);
    for (size_t i = 0; i < plan.count; i++)
        CHECK_INT(plan.bucket[i].bytes, i % 2 ? 1024 : 64);
}

TEST(any_plan_is_valid)
{
    uint64_t seed = 3;
    for (int i = 0; i < 500; i++) {
        size_t layers = 1 + test_random(&seed) % 40, width = 1 + test_random(&seed) % 300;
        uint64_t first = 1 + test_random(&seed) % 100000, cap = 1 + test_random(&seed) % 1000000;
        buckets_plan(&plan, layers, width, first, cap);
        REQUIRE(buckets_is_valid(&plan));
        CHECK_INT(buckets_total(&plan), layers * (width * width + width) * 4);
        for (size_t k = 0; k + 1 < plan.count; k++)
            CHECK(plan.bucket[k].bytes >= (k ? cap : first));
    }
}

TEST(a_wrong_plan_is_seen)
{
    buckets_plan(&plan, 3, 8, 100, 100);
    REQUIRE(plan.count > 1);
    plan.offset[0] += 4;
    CHECK(!buckets_is_valid(&plan));
    plan.offset[0] -= 4;
    plan.bucket_of[5]++;
    CHECK(!buckets_is_valid(&plan));
    plan.bucket_of[5]--;
    plan.bucket[1].bytes--;
    CHECK(!buckets_is_valid(&plan));
    plan.bucket[1].bytes++;
    plan.bucket[1].first--;
    CHECK(!buckets_is_valid(&plan));
}

/* ---- the model ---- */

enum { LAYERS = 3, WIDTH = 4, ROWS = 5, COUNT = LAYERS * (WIDTH * WIDTH + WIDTH) };

static double loss_of(const double *weights, const double *given, const double *wanted,
                      double *gradients)
{
    double loss = 0;
    REQUIRE(mlp_gradients(LAYERS, WIDTH, ROWS, weights, given, wanted, 0.5, &loss, gradients));
    return loss;
}

TEST(gradients_of_the_model_are_slopes)
{
    double weights[COUNT], gradients[COUNT] = {0}, unused[COUNT] = {0};
    double given[ROWS * WIDTH], wanted[ROWS * WIDTH];
    unsigned long long seed = 1;
    for (size_t i = 0; i < COUNT; i++)
        weights[i] = (double)ref_random(&seed);
    for (size_t i = 0; i < ROWS * WIDTH; i++) {
        given[i] = (double)ref_random(&seed);
        wanted[i] = (double)ref_random(&seed);
    }
    CHECK_INT(mlp_count(LAYERS, WIDTH), COUNT);
    loss_of(weights, given, wanted, gradients);
    for (size_t i = 0; i < COUNT; i++) {
        double old = weights[i];
        weights[i] = old + 1e-6;
        double above = loss_of(weights, given, wanted, unused);
        weights[i] = old - 1e-6;
        double below = loss_of(weights, given, wanted, unused);
        weights[i] = old;
        CHECK(fabs(0.5 * (above - below) / 2e-6 - gradients[i]) < 1e-6);
    }
}

TEST_MAIN(TEST_CASE(one_bucket_for_all), TEST_CASE(caps_of_1_and_25_mib),
          TEST_CASE(a_bucket_for_each), TEST_CASE(any_plan_is_valid),
          TEST_CASE(a_wrong_plan_is_seen), TEST_CASE(gradients_of_the_model_are_slopes))
