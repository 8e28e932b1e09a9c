/*
 * What cudnn.benchmark tries: the engines that there are to fall back to, asked for as PyTorch
 * does.
 *
 * The table was measured on an H200 with PyTorch 2.11.0 and cuDNN 9.19.0: the block with room for
 * the largest kernel. No row is of those that the model was fitted to. Each is of another kind, and
 * one that the model has right, within 4 KiB or a five-hundredth. How often that is so of all is in
 * docs/gpu-profiles.md.
 */
#include "dnn_asked.h"

enum { FALLBACK = 2 }; /* a heuristic's mode */

struct trial {
    struct measured of;
    int64_t stride;
};

static const struct trial TABLE[] = {
    {{DATA, HALF, 0, 4, {8, 480, 14, 14}, {480, 1, 5, 5}, {8, 480, 14, 14}, 12427664}, 1},
    {{DATA, HALF, 0, 4, {4, 128, 56, 56}, {320, 128, 7, 7}, {4, 320, 56, 56}, 15253888}, 1},
    {{DATA, HALF, 0, 4, {64, 58, 28, 28}, {58, 58, 1, 1}, {64, 58, 28, 28}, 12853395}, 1},
    {{FORWARD, HALF, 0, 4, {8, 672, 14, 14}, {672, 1, 5, 5}, {8, 672, 14, 14}, 17396752}, 1},
    {{FORWARD, HALF, 0, 4, {2, 256, 56, 56}, {256, 8, 3, 3}, {2, 256, 28, 28}, 4051328}, 2},
    {{FORWARD, HALF, 0, 4, {1, 192, 64, 64}, {640, 192, 4, 4}, {1, 640, 65, 65}, 23496495}, 1},
    {{FORWARD, HALF, 0, 4, {4, 32, 160, 160}, {64, 32, 3, 3}, {4, 64, 80, 80}, 19734544}, 2},
    {{FORWARD, HALF, 0, 4, {16, 32, 27, 27}, {128, 32, 1, 1}, {16, 128, 27, 27}, 3732736}, 1},
    {{FORWARD, HALF, 0, 4, {1, 256, 56, 56}, {512, 256, 1, 1}, {1, 512, 28, 28}, 2408704}, 2},
    {{WEIGHTS, HALF, 0, 4, {1, 1024, 7, 7}, {1024, 32, 3, 3}, {1, 1024, 7, 7}, 790912}, 1},
    {{WEIGHTS, HALF, 0, 4, {2, 1024, 14, 14}, {1024, 32, 3, 3}, {2, 1024, 7, 7}, 1593728}, 2},
    {{WEIGHTS, HALF, 0, 4, {32, 64, 112, 112}, {128, 64, 3, 3}, {32, 128, 112, 112}, 171328223}, 1},
    {{WEIGHTS, HALF, 0, 4, {32, 320, 14, 14}, {64, 320, 3, 3}, {32, 64, 7, 7}, 20803728}, 2},
    {{WEIGHTS, HALF, 0, 4, {32, 64, 56, 56}, {256, 64, 1, 1}, {32, 256, 56, 56}, 81527519}, 1},
    {{WEIGHTS, HALF, 0, 4, {1, 48, 14, 14}, {32, 48, 1, 1}, {1, 32, 7, 7}, 22208}, 2},
    {{DATA, FLOAT, 0, 4, {32, 128, 56, 56}, {128, 4, 3, 3}, {32, 128, 56, 56}, 102779264}, 1},
    {{DATA, FLOAT, 0, 4, {1, 16, 55, 55}, {64, 16, 3, 3}, {1, 64, 55, 55}, 5152768}, 1},
    {{DATA, FLOAT, 0, 4, {64, 160, 28, 28}, {1024, 160, 3, 3}, {64, 1024, 14, 14}, 3417178128}, 2},
    {{DATA, FLOAT, 0, 4, {16, 224, 56, 56}, {128, 224, 1, 1}, {16, 128, 56, 56}, 70762512}, 1},
    {{FORWARD, FLOAT, 0, 4, {32, 128, 56, 56}, {128, 4, 3, 3}, {32, 128, 56, 56}, 102779264}, 1},
    {{FORWARD, FLOAT, 0, 4, {2, 256, 56, 56}, {256, 8, 3, 3}, {2, 256, 28, 28}, 8102272}, 2},
    {{FORWARD, FLOAT, 0, 4, {64, 64, 13, 13}, {256, 64, 3, 3}, {64, 256, 13, 13}, 47775744}, 1},
    {{FORWARD, FLOAT, 0, 4, {2, 3, 512, 512}, {64, 3, 7, 7}, {2, 64, 256, 256}, 41993232}, 2},
    {{FORWARD, FLOAT, 0, 4, {32, 320, 14, 14}, {128, 320, 1, 1}, {32, 128, 14, 14}, 118128640}, 1},
    {{FORWARD, FLOAT, 0, 4, {16, 64, 56, 56}, {128, 64, 1, 1}, {16, 128, 28, 28}, 19300368}, 2},
    {{WEIGHTS, FLOAT, 0, 4, {2, 1024, 14, 14}, {1024, 32, 3, 3}, {2, 1024, 7, 7}, 3187072}, 2},
    {{WEIGHTS, FLOAT, 0, 4, {64, 128, 28, 28}, {32, 128, 3, 3}, {64, 32, 28, 28}, 95551488}, 1},
    {{WEIGHTS, FLOAT, 0, 4, {4, 256, 20, 20}, {320, 256, 2, 2}, {4, 320, 11, 11}, 12743824}, 2},
    {{WEIGHTS, FLOAT, 0, 4, {32, 640, 14, 14}, {128, 640, 1, 1}, {32, 128, 14, 14}, 191954944}, 1},
    {{DATA, FLOAT, 1, 4, {2, 16, 112, 112}, {16, 1, 3, 3}, {2, 16, 112, 112}, 12854288}, 1},
    {{DATA, FLOAT, 1, 4, {2, 48, 112, 112}, {48, 1, 3, 3}, {2, 48, 56, 56}, 24112144}, 2},
    {{DATA, FLOAT, 1, 4, {32, 128, 56, 56}, {128, 4, 3, 3}, {32, 128, 56, 56}, 51398672}, 1},
    {{DATA, FLOAT, 1, 4, {4, 768, 64, 64}, {80, 768, 7, 7}, {4, 80, 64, 64}, 364527632}, 1},
    {{DATA, FLOAT, 1, 4, {64, 512, 7, 7}, {8, 512, 3, 3}, {64, 8, 4, 4}, 652658704}, 2},
    {{DATA, FLOAT, 1, 4, {2, 3, 224, 224}, {96, 3, 4, 4}, {2, 96, 56, 56}, 4038672}, 4},
    {{DATA, FLOAT, 1, 4, {64, 48, 56, 56}, {24, 48, 1, 1}, {64, 24, 56, 56}, 57802768}, 1},
    {{FORWARD, FLOAT, 1, 4, {8, 144, 56, 56}, {144, 1, 3, 3}, {8, 144, 56, 56}, 115688595}, 1},
    {{FORWARD, FLOAT, 1, 4, {4, 576, 14, 14}, {576, 1, 5, 5}, {4, 576, 7, 7}, 9953427}, 2},
    {{FORWARD, FLOAT, 1, 4, {2, 32, 56, 56}, {768, 32, 4, 4}, {2, 768, 57, 57}, 856545296}, 1},
    {{FORWARD, FLOAT, 1, 4, {2, 1024, 128, 128}, {32, 1024, 7, 7}, {2, 32, 64, 64}, 141889552}, 2},
    {{FORWARD, FLOAT, 1, 4, {16, 1280, 8, 8}, {192, 1280, 1, 1}, {16, 192, 8, 8}, 620429328}, 1},
    {{WEIGHTS, FLOAT, 1, 4, {64, 576, 14, 14}, {576, 1, 3, 3}, {64, 576, 14, 14}, 236853967}, 1},
    {{WEIGHTS, FLOAT, 1, 4, {32, 116, 28, 28}, {116, 1, 3, 3}, {32, 116, 14, 14}, 59451375}, 2},
    {{WEIGHTS, FLOAT, 1, 4, {1, 128, 40, 40}, {160, 128, 3, 3}, {1, 160, 40, 40}, 695664656}, 1},
    {{WEIGHTS, FLOAT, 1, 4, {2, 1024, 8, 8}, {1024, 1024, 5, 5}, {2, 1024, 4, 4}, 105513104}, 2},
    {{WEIGHTS, FLOAT, 1, 4, {32, 512, 28, 28}, {512, 512, 1, 1}, {32, 512, 28, 28}, 2435842064}, 1},
};
#define ROWS (sizeof TABLE / sizeof *TABLE)

/* The two configurations to fall back to, asked for behind the one that is chosen. */
static void fall_back(const struct trial *row, void *configs[2])
{
    int mode = FALLBACK;
    int64_t count = 0;
    destroy(from_heuristic(graph_of_stride(&row->of, row->stride)));
    void *heuristic = make(HEURISTIC);
    set(heuristic, 200, 8, 1, &mode);
    put(heuristic, 201, graph_of_stride(&row->of, row->stride));
    CHECK_INT(CALL(int, cudnnBackendGetAttribute, (void *, int, int, int64_t, int64_t *, void *),
                   (heuristic, 202, OF_DESCRIPTOR, 0, &count, NULL)),
              0);
    CHECK_INT(count, 2);
    configs[0] = make(CONFIG);
    configs[1] = make(CONFIG);
    CHECK_INT(CALL(int, cudnnBackendGetAttribute, (void *, int, int, int64_t, int64_t *, void *),
                   (heuristic, 202, OF_DESCRIPTOR, 2, &count, configs)),
              0);
    CHECK_INT(count, 2);
    destroy(heuristic);
}

/* Of the largest kernel. */
static int64_t trial_of(const struct trial *row)
{
    void *configs[2];
    fall_back(row, configs);
    int64_t bytes = workspace_of(configs[0]);
    CHECK_INT(workspace_of(configs[1]), 0);
    return bytes;
}

static bool is_near(int64_t bytes, int64_t measured)
{
    int64_t off = bytes > measured ? bytes - measured : measured - bytes;
    return off <= 4096 || off <= measured / 500;
}

TEST(measured_trials_take_what_they_took)
{
    open_stand_in("gpu=h200");
    for (const struct trial *row = TABLE; row < TABLE + ROWS; row++) {
        int64_t bytes = trial_of(row);
        if (!is_near(bytes, row->of.bytes))
            fprintf(stderr, "row %d: measured %lld, answered %lld\n", (int)(row - TABLE),
                    (long long)row->of.bytes, (long long)bytes);
        CHECK(is_near(bytes, row->of.bytes));
    }
}

TEST(none_of_them_wants_less_than_the_chosen_one)
{
    open_stand_in("gpu=h200");
    for (const struct trial *row = TABLE; row < TABLE + ROWS; row++)
        CHECK(trial_of(row) >= workspace_of(from_heuristic(graph_of(&row->of))));
}

/* Nothing was measured there. */
TEST(a_gpu_of_8_0_is_not_known)
{
    open_stand_in("gpu=a100-40gb");
    for (const struct trial *row = TABLE; row < TABLE + ROWS; row++)
        CHECK_INT(trial_of(row), 0);
    CHECK_STR(told, "library cudnn.benchmark trials");
}

TEST(what_has_no_rule_takes_nothing)
{
    struct trial row = TABLE[0];
    open_stand_in("gpu=h200");
    trial_of(&row);
    CHECK_STR(told, "modelled cudnn.benchmark trials");
    row.of.type = DOUBLE;
    CHECK_INT(trial_of(&row), 0);
    CHECK_STR(told, "library cudnn.benchmark trials");
}

/* As large as tensors may be: no number overflows. */
TEST(huge_ones_have_a_size)
{
    struct trial row = {{FORWARD,
                         FLOAT,
                         0,
                         4,
                         {1, 1 << 18, 64, 64},
                         {1 << 18, 1 << 18, 1, 1},
                         {1, 1 << 18, 64, 64},
                         0},
                        1};
    open_stand_in("gpu=h200");
    for (row.of.kind = FORWARD; row.of.kind <= DATA; row.of.kind++)
        CHECK(trial_of(&row) > 0);
}

/* Without cudnn.benchmark: the workspace was refused, so no kernel is tried that wants more. */
TEST(a_refused_plan_gives_way_to_one_that_wants_nothing)
{
    open_stand_in("gpu=h200");
    workspace_of(from_heuristic(graph_of(&TABLE->of)));
    CHECK_INT(workspace_of(from_heuristic_of(graph_of(&TABLE->of), FALLBACK)), 0);
}

static float time_of(void *plan)
{
    void *begin = NULL, *end = NULL;
    float ms = 0;
    CALL(int, cudaEventCreate, (void **), (&begin));
    CALL(int, cudaEventCreate, (void **), (&end));
    CALL(int, cudaEventRecord, (void *, void *), (begin, NULL));
    CHECK_INT(CALL(int, cudnnBackendExecute, (void *, void *, void *), (NULL, plan, NULL)), 0);
    CALL(int, cudaEventRecord, (void *, void *), (end, NULL));
    CHECK_INT(CALL(int, cudaEventElapsedTime, (float *, void *, void *), (&ms, begin, end)), 0);
    return ms;
}

static void *plan_of(void *config)
{
    void *plan = make(PLAN);
    put(plan, 401, config);
    return plan;
}

/* The program keeps the one that takes least time: what it would have chosen. */
TEST(the_chosen_one_is_the_fastest)
{
    void *configs[2];
    open_stand_in("gpu=h200");
    fall_back(TABLE, configs);
    void *chosen = plan_of(from_heuristic(graph_of(&TABLE->of)));
    void *largest = plan_of(configs[0]), *sparing = plan_of(configs[1]);
    float of_largest = time_of(largest), of_sparing = time_of(sparing);
    CHECK(of_largest >= 1000.0f && of_sparing >= 1000.0f);
    for (int i = 0; i < 100; i++) /* whatever holds the host up, it does not for a hundred times */
        if (time_of(chosen) < 1000.0f)
            return;
    CHECK(false);
}

TEST_MAIN(TEST_CASE(measured_trials_take_what_they_took),
          TEST_CASE(none_of_them_wants_less_than_the_chosen_one),
          TEST_CASE(a_gpu_of_8_0_is_not_known), TEST_CASE(what_has_no_rule_takes_nothing),
          TEST_CASE(huge_ones_have_a_size),
          TEST_CASE(a_refused_plan_gives_way_to_one_that_wants_nothing),
          TEST_CASE(the_chosen_one_is_the_fastest))
