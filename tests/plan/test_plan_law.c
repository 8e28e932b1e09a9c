/* Bytes as polynomials, in whole numbers; and what programs say at their ends. */
#include "test.h"

#include "mem.h"
#include "plan_scale.h"
#include "plan_try.h"

static const int64_t numbers[SCALE_MOST] = {2, 3, 4, 6};

static void sizes_of(int64_t constant, int64_t each, int64_t square, int64_t sizes[SCALE_MOST])
{
    for (size_t i = 0; i < SCALE_MOST; i++)
        sizes[i] = constant + each * numbers[i] + square * numbers[i] * numbers[i];
}

TEST(laws_are_told_apart)
{
    int64_t sizes[SCALE_MOST];
    sizes_of(512, 0, 0, sizes);
    CHECK_INT(scale_find_law(numbers, sizes, 4), SCALE_CONSTANT);
    sizes_of(512, 12, 0, sizes);
    CHECK_INT(scale_find_law(numbers, sizes, 4), SCALE_LINE);
    sizes_of(512, 12, 4, sizes);
    CHECK_INT(scale_find_law(numbers, sizes, 4), SCALE_PARABOLA);
    CHECK_INT(scale_find_law(numbers, sizes, 3), SCALE_NONE); /* nothing could speak against it */
    sizes[3] += 1;
    CHECK_INT(scale_find_law(numbers, sizes, 4), SCALE_NONE);
    sizes_of(512, 12, 0, sizes);
    sizes[3] -= 1;
    CHECK_INT(scale_find_law(numbers, sizes, 3), SCALE_LINE);
    CHECK_INT(scale_find_law(numbers, sizes, 4), SCALE_NONE);
    CHECK_INT(scale_find_law(numbers, sizes, 2), SCALE_NONE);
    CHECK_INT(scale_find_law(numbers, sizes, 1), SCALE_CONSTANT);
    for (size_t i = 0; i < SCALE_MOST; i++)
        sizes[i] = numbers[i] * numbers[i] * numbers[i];
    CHECK_INT(scale_find_law(numbers, sizes, 4), SCALE_NONE);
}

TEST(laws_hold_at_any_number_to_the_byte)
{
    uint64_t seed = 3;
    for (int i = 0; i < 2000; i++) {
        int64_t constant = (int64_t)(test_random(&seed) % 1000000),
                each = (int64_t)(test_random(&seed) % 100000000),
                square = i % 2 ? (int64_t)(test_random(&seed) % 100000) : 0;
        int64_t sizes[SCALE_MOST], at = (int64_t)(test_random(&seed) % 5000);
        sizes_of(constant, each, square, sizes);
        enum scale_law law = scale_find_law(numbers, sizes, 4);
        CHECK_INT(scale_size_at(numbers, sizes, 4, law, at),
                  constant + each * at + square * at * at);
    }
}

TEST(what_has_no_law_grows_in_proportion)
{
    const int64_t sizes[SCALE_MOST] = {10, 30, 20, 60};
    CHECK_INT(scale_find_law(numbers, sizes, 4), SCALE_NONE);
    CHECK_INT(scale_size_at(numbers, sizes, 4, SCALE_NONE, 3), 30); /* as it was seen */
    CHECK_INT(scale_size_at(numbers, sizes, 4, SCALE_NONE, 12), 120);
    CHECK_INT(scale_size_at(numbers, sizes, 4, SCALE_NONE, 7), 70);
    const int64_t half[SCALE_MOST] = {2, 3, 5, 7};
    CHECK_INT(scale_size_at(numbers, half, 4, SCALE_NONE, 7), 9); /* 8 1/6, and never less */
}

TEST(a_line_that_falls_ends_at_nothing)
{
    const int64_t sizes[SCALE_MOST] = {40, 30, 20, 0};
    CHECK_INT(scale_find_law(numbers, sizes, 4), SCALE_LINE);
    CHECK_INT(scale_size_at(numbers, sizes, 4, SCALE_LINE, 100), 0);
    const int64_t large[SCALE_MOST] = {INT64_C(2) << 48, INT64_C(3) << 48, INT64_C(4) << 48,
                                       INT64_C(6) << 48};
    CHECK_INT(scale_size_at(numbers, large, 4, SCALE_LINE, 1 << 20), (int64_t)REPLAY_MOST);
}

static void words_are(const char *printed, bool ours, const char *want)
{
    char *words = plan_last_words(printed, ours);
    CHECK_STR(words ? words : "none", want);
    mem_free(words);
}

TEST(last_words_are_the_programs)
{
    words_are("", true, "none");
    words_are("\n \n", true, "none");
    words_are("one\ntwo\n", true, "two");
    words_are("one\n  two  \r\n\n   \n", true, "  two");
    words_are("one\ntidemark: recorded into x\ntidemark: next", true, "one");
    words_are("tidemark: cannot run x\ntidemark: note\n", true, "cannot run x");
    words_are("tidemark: cannot run x\n", false, "none");
    words_are("tidemark:\n", true, "tidemark:");
    words_are("Traceback (most recent call last):\n  File x\n    y\nKeyError: 1\n\nDuring ...\n\n"
              "Traceback (most recent call last):\n  File x\n    ^^\n\nRuntimeError: CUDA error\n"
              "Search for it\n\ntidemark: recorded\n",
              true, "RuntimeError: CUDA error");
    words_are("[rank1]: Traceback (most recent call last):\n[rank1]:   File x\n"
              "[rank1]: ValueError: no\nTraceback (most recent call last):\n  File y\n"
              "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n",
              true, "[rank1]: ValueError: no");
    words_are("Traceback (most recent call last):\n  File x\n", true, "  File x");
    words_are("Traceback (most recent call last):", true, "Traceback (most recent call last):");
}

TEST(refusals_are_known_by_their_words)
{
    CHECK(plan_words_refuse("...\ntorch.OutOfMemoryError: CUDA out of memory. Tried to ..."));
    CHECK(plan_words_refuse("RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"));
    CHECK(!plan_words_refuse("MemoryError"));
    CHECK(!plan_words_refuse("DefaultCPUAllocator: can't allocate memory"));
}

TEST_MAIN(TEST_CASE(laws_are_told_apart), TEST_CASE(laws_hold_at_any_number_to_the_byte),
          TEST_CASE(what_has_no_law_grows_in_proportion),
          TEST_CASE(a_line_that_falls_ends_at_nothing), TEST_CASE(last_words_are_the_programs),
          TEST_CASE(refusals_are_known_by_their_words))
