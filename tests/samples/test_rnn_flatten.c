/*
 * The sample against arithmetic that is written down here anew: the packed weights of an RNN, and
 * that a peak is higher by that much for each call in flight if they are scattered.
 */
#include "rows.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rows run(const char *options)
{
    struct rows rows;
    char command[1024];
    snprintf(command, sizeof command, RNN_FLATTEN " --csv %s", options);
    REQUIRE(rows_run(command, &rows) == 0);
    return rows;
}

static int64_t peak_of(const char *options)
{
    struct rows rows = run(options);
    return rows.row[rows.count - 1].max_allocated;
}

/* All tensors of these are multiples of 512 bytes and at most 1 MiB, so the allocator adds nothing
 * to them. Each call saves more than the weights, so the peak is where the last call's backward
 * begins, scattered or not. */
#define SMALL "--layers=1 --one-way --input=128 --hidden=128 --batch=4 --length=64 --steps=3"

/* One layer of `gates` gates, one direction: what is multiplied with the input, what with the
 * state, and two biases; floats. */
static int64_t packed_small(int gates)
{
    return 4ll * (gates * 128 * 128 + gates * 128 * 128 + 2 * gates * 128);
}

static void check_calls(int calls, const char *cell, int gates)
{
    char scattered[256], flat[256];
    snprintf(scattered, sizeof scattered, SMALL " --calls=%d %s", calls, cell);
    snprintf(flat, sizeof flat, SMALL " --calls=%d %s --flatten", calls, cell);
    CHECK_INT(peak_of(scattered) - peak_of(flat), calls * packed_small(gates));
}

TEST(each_call_in_flight_costs_the_packed_weights)
{
    for (int calls = 1; calls <= 5; calls++) {
        check_calls(calls, "", 4);
        check_calls(calls, "--gru", 3);
    }
}

/* What is allocated before the first step, for shapes whose counts of parameters are known:
 * LSTM(10, 20, 2 layers) has 5,920, GRU(10, 20, 2 layers) 4,440; both directions of LSTM(8, 16)
 * 2 * 4 * (16 * 8 + 16 * 16 + 2 * 16) = 3,328. Flat, they are one block, rounded up to 512. */
TEST(the_packed_weights_are_all_weights)
{
    static const struct {
        const char *options;
        int64_t floats;
    } shapes[] = {
        {"--one-way --input=10 --hidden=20 --layers=2", 5920},
        {"--one-way --input=10 --hidden=20 --layers=2 --gru", 4440},
        {"--input=8 --hidden=16 --layers=1", 3328},
        {"--input=8 --hidden=16 --layers=2", 3328 + 2 * 4 * (16 * 32 + 16 * 16 + 2 * 16)},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        char options[256];
        snprintf(options, sizeof options, "%s --batch=2 --length=3 --flatten", shapes[i].options);
        struct rows rows = run(options);
        int64_t flat = rows_find(&rows, -1, "beginning")->allocated;
        CHECK_INT(flat, (4 * shapes[i].floats + 511) / 512 * 512);
    }
}

/* The buffers come in forward and are gone after backward, in every step. */
TEST(the_copies_live_from_forward_to_backward)
{
    struct rows scattered = run(SMALL " --calls=3"), flat = run(SMALL " --calls=3 --flatten");
    for (int step = 0; step < 3; step++) {
        int64_t packed = 3 * packed_small(4);
        CHECK_INT(rows_find(&scattered, step, "forward")->allocated -
                      rows_find(&flat, step, "forward")->allocated,
                  packed);
        CHECK_INT(rows_find(&scattered, step, "loss")->allocated -
                      rows_find(&flat, step, "loss")->allocated,
                  packed);
        CHECK_INT(rows_find(&scattered, step, "backward")->allocated,
                  rows_find(&flat, step, "backward")->allocated);
        CHECK_INT(rows_find(&scattered, step, "optimizer")->allocated,
                  rows_find(&flat, step, "optimizer")->allocated);
    }
}

/* flatten_parameters() itself has both for a moment: the weights and the buffer. */
TEST(flattening_needs_both_for_a_moment)
{
    struct rows flat = run(SMALL " --flatten");
    const struct row *row = rows_find(&flat, -1, "beginning");
    CHECK_INT(row->allocated, packed_small(4));
    CHECK_INT(row->max_allocated, 2 * packed_small(4));
}

/* With the dimensions of README.md, where blocks have up to 1 MiB too much. */
TEST(the_example_is_as_the_readme_says)
{
    int64_t packed = 4ll * 2 * (4 * 1024 * (512 + 1024 + 2) + 4 * 1024 * (2 * 1024 + 1024 + 2));
    CHECK_INT(packed >> 20, 144);
    int64_t more = peak_of("--calls=2") - peak_of("--calls=2 --flatten");
    CHECK(more > 2 * packed - (8 << 20) && more < 2 * packed + (8 << 20));
}

/* The rows of README.md's table that begin with options: "| `--calls=4` | 1649.1 | 1682.0 |". */
TEST(the_table_of_the_readme_is_what_it_prints)
{
    FILE *readme = fopen(README, "r");
    char line[256], options[128];
    double allocated, reserved;
    int found = 0;
    REQUIRE(readme != NULL);
    while (fgets(line, sizeof line, readme)) {
        if (sscanf(line, "| `%127[^`]` | %lf | %lf |", options, &allocated, &reserved) != 3)
            continue;
        struct rows rows = run(options);
        const struct row *last = &rows.row[rows.count - 1];
        CHECK_INT((double)last->max_allocated * 10 / (1 << 20) + 0.5, allocated * 10 + 0.5);
        CHECK_INT((double)last->max_reserved * 10 / (1 << 20) + 0.5, reserved * 10 + 0.5);
        found++;
    }
    fclose(readme);
    CHECK_INT(found, 6);
}

TEST(what_is_printed_says_that_it_is_simulated)
{
    char line[256] = "";
    FILE *output = popen(RNN_FLATTEN, "r");
    REQUIRE(output && fgets(line, sizeof line, output));
    CHECK(strncmp(line, "simulated", 9) == 0);
    int said = 0;
    while (fgets(line, sizeof line, output))
        said += strstr(line, "simulated: the packed weights are 144.1 MiB") != NULL;
    CHECK_INT(pclose(output), 0);
    CHECK_INT(said, 1);
}

TEST(wrong_usage_is_refused)
{
    static const char *const wrong[] = {"--layers=0",    "--layers=x", "--layers=99999", "--layers",
                                        "--hidden=5MiB", "what",       "--nonsense"};
    struct rows rows;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char command[512];
        snprintf(command, sizeof command, RNN_FLATTEN " %s 2>/dev/null", wrong[i]);
        CHECK_INT(rows_run(command, &rows), 2);
    }
}

TEST_MAIN(TEST_CASE(each_call_in_flight_costs_the_packed_weights),
          TEST_CASE(the_packed_weights_are_all_weights),
          TEST_CASE(the_copies_live_from_forward_to_backward),
          TEST_CASE(flattening_needs_both_for_a_moment),
          TEST_CASE(the_example_is_as_the_readme_says),
          TEST_CASE(the_table_of_the_readme_is_what_it_prints),
          TEST_CASE(what_is_printed_says_that_it_is_simulated), TEST_CASE(wrong_usage_is_refused))
