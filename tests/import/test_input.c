/*
 * Bytes from files, pipes and memory; the budget; numbers of names.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "mem.h"
#include "pickle_input.h"
#include "snapshot.h"
#include "test.h"

#define TOTAL (3 * PICKLE_INPUT_BYTES + 1234)

static unsigned char byte_at(uint64_t offset)
{
    return (unsigned char)(offset * 2654435761u >> 13);
}

static void write_bytes(const char *path, size_t count)
{
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    for (size_t i = 0; i < count; i++)
        fputc(byte_at(i), file);
    REQUIRE(fclose(file) == 0);
}

/* Takes pieces of random sizes and skips others, to the end. */
static void walk(struct pickle_input *input, size_t total, uint64_t seed)
{
    uint64_t offset = 0;
    while (offset < total) {
        uint64_t left = total - offset, n = 1 + test_random(&seed) % 100000;
        if (n > left)
            n = left;
        CHECK_INT(input_offset(input), offset);
        if (test_random(&seed) % 3 == 0) {
            CHECK(input_skip(input, n));
        } else {
            const unsigned char *bytes = input_take(input, (size_t)n);
            REQUIRE(bytes != NULL);
            CHECK(bytes[0] == byte_at(offset) && bytes[n - 1] == byte_at(offset + n - 1));
        }
        offset += n;
    }
    CHECK(input_take(input, 1) == NULL);
    CHECK(!input_skip(input, 1));
    CHECK(input_skip(input, 0));
}

TEST(a_file_is_read_in_pieces)
{
    struct pickle_input input;
    write_bytes(test_path("f"), TOTAL);
    for (uint64_t seed = 0; seed < 10; seed++) {
        REQUIRE(input_open(&input, test_path("f")) == BASE_OK);
        walk(&input, TOTAL, seed);
        input_close(&input);
        input_close(&input); /* once more does nothing */
    }
}

TEST(what_is_looked_at_stays_the_next)
{
    struct pickle_input input;
    size_t count;
    write_bytes(test_path("look"), 3000);
    REQUIRE(input_open(&input, test_path("look")) == BASE_OK);
    const unsigned char *first = input_look(&input, 100, &count);
    CHECK_INT(count, 100);
    CHECK(first[0] == byte_at(0) && first[99] == byte_at(99));
    CHECK_INT(input_offset(&input), 0);
    CHECK(input_take(&input, 2999) != NULL);
    first = input_look(&input, 100, &count);
    CHECK_INT(count, 1);
    CHECK(first[0] == byte_at(2999));
    CHECK_INT(input_offset(&input), 2999);
    input_close(&input);
    input_memory(&input, "abc", 3);
    CHECK(memcmp(input_look(&input, 100, &count), "abc", 3) == 0);
    CHECK_INT(count, 3);
}

TEST(memory_is_read_in_pieces)
{
    struct pickle_input input;
    unsigned char *bytes = mem_alloc(TOTAL, 1);
    for (size_t i = 0; i < TOTAL; i++)
        bytes[i] = byte_at(i);
    input_memory(&input, bytes, TOTAL);
    walk(&input, TOTAL, 3);
    input_memory(&input, bytes, 10);
    CHECK(!input_skip(&input, UINT64_MAX));
    CHECK(input_take(&input, 1) == NULL);
    mem_free(bytes);
}

TEST(a_pipe_is_read_too)
{
    struct pickle_input input;
    REQUIRE(mkfifo(test_path("pipe"), 0600) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        write_bytes(test_path("pipe"), TOTAL);
        _exit(0);
    }
    REQUIRE(input_open(&input, test_path("pipe")) == BASE_OK);
    walk(&input, TOTAL, 5);
    input_close(&input);
}

TEST(more_than_the_room_is_not_taken_at_once)
{
    struct pickle_input input;
    write_bytes(test_path("f"), TOTAL);
    REQUIRE(input_open(&input, test_path("f")) == BASE_OK);
    CHECK(input_take(&input, PICKLE_INPUT_BYTES + 1) == NULL);
    CHECK(input_take(&input, PICKLE_INPUT_BYTES) != NULL);
    CHECK(!input_skip(&input, UINT64_MAX));
    input_close(&input);
}

TEST(what_cannot_be_opened)
{
    struct pickle_input input;
    CHECK_INT(input_open(&input, test_path("nowhere")), ERR_NOTFOUND);
    CHECK_INT(errno, ENOENT);
    CHECK_INT(input_open(&input, test_folder()), ERR_IO);
    CHECK_INT(errno, EISDIR);
    write_bytes(test_path("f"), 1);
    mem_fail_after(1);
    CHECK_INT(input_open(&input, test_path("f")), ERR_NOMEM);
    mem_fail_after(0);
}

/* ---- the budget ---- */

TEST(the_budget_is_kept)
{
    struct budget budget = {.limit = 4096};
    uint64_t *numbers = NULL;
    size_t cap = 0, need = 0;
    while (BUDGET_GROW(&budget, numbers, cap, need + 1)) {
        numbers[need] = need;
        need++;
        CHECK_INT(budget.held, cap * sizeof *numbers);
        CHECK(budget.held <= budget.limit);
    }
    CHECK(budget.refused);
    CHECK_INT(need, 512); /* what it had is still there */
    CHECK_INT(numbers[511], 511);
    CHECK_INT(budget.most, 4096);
    budget_free(&budget, numbers, cap, sizeof *numbers);
    CHECK_INT(budget.held, 0);
    CHECK_INT(budget.most, 4096);
}

TEST(the_system_may_refuse_first)
{
    struct budget budget = {.limit = SIZE_MAX / 2};
    char *bytes = NULL;
    size_t cap = 0;
    mem_fail_after(1);
    CHECK(!BUDGET_GROW(&budget, bytes, cap, 100));
    mem_fail_after(0);
    CHECK(!budget.refused);
    CHECK_INT(budget.held, 0);
    CHECK(!BUDGET_GROW(&budget, bytes, cap, SIZE_MAX - 1));
    uint64_t *wide = NULL;
    CHECK(!BUDGET_GROW(&budget, wide, cap, SIZE_MAX / 8));
    CHECK_INT(cap, 0);
}

TEST(names_are_counted)
{
    struct snapshot snapshot = {.budget.limit = 20000};
    uint32_t last = 0, id;
    for (uint32_t i = 0;
         (id = snapshot_intern(&snapshot, &snapshot.frames, &(struct snapshot_frame){0, 0, i}, 12));
         i++)
        CHECK_INT(id, ++last);
    CHECK(last > 100);
    CHECK(snapshot.budget.refused);
    CHECK(snapshot.budget.most >= 20000 && snapshot.budget.most < 40000);
    /* What is known already is found all the same. */
    CHECK_INT(snapshot_intern(&snapshot, &snapshot.frames, &(struct snapshot_frame){0, 0, 4}, 12),
              5);
    CHECK(snapshot_is_valid(&snapshot));
    snapshot_clear(&snapshot);
}

TEST(places_are_numbered)
{
    struct snapshot snapshot = {.budget.limit = SIZE_MAX / 2};
    uint32_t a = snapshot_place(&snapshot, 0, 0, 0), b = snapshot_place(&snapshot, 1, 0, 0);
    CHECK(a && b && a != b);
    CHECK_INT(snapshot_place(&snapshot, 0, 0, 0), a);
    CHECK_INT(snapshot_place_at(&snapshot, b).device, 1);
    CHECK_INT(snapshot_place_at(&snapshot, 0).device, 0);
    CHECK_INT(snapshot_pair_at(&snapshot, 0).second, 0);
    snapshot_clear(&snapshot);
}

/* ---- what is_valid would find ---- */

TEST(a_damaged_snapshot_is_not_valid)
{
    struct snapshot snapshot = {.budget.limit = SIZE_MAX / 2};
    struct trace_entry entry = {.action = TRACE_ALLOC};
    struct snapshot_segment segment = {.block_count = 1};
    struct snapshot_trace trace = {0, 2};
    struct snapshot_note note = {.name = 1};
    CHECK(snapshot_is_valid(&snapshot));
    snapshot.entries = &entry;
    snapshot.entry_count = 1;
    CHECK(snapshot_is_valid(&snapshot));
    entry.site = 1;
    CHECK(!snapshot_is_valid(&snapshot));
    entry.site = 0;
    snapshot.traces = &trace;
    snapshot.trace_count = 1;
    CHECK(!snapshot_is_valid(&snapshot));
    trace.count = 1;
    CHECK(snapshot_is_valid(&snapshot));
    snapshot.segments = &segment;
    snapshot.segment_count = 1;
    CHECK(!snapshot_is_valid(&snapshot));
    segment.block_count = 0;
    CHECK(snapshot_is_valid(&snapshot));
    snapshot.listed_count = 2;
    CHECK(!snapshot_is_valid(&snapshot));
    snapshot.listed_count = 1;
    snapshot.notes = &note;
    snapshot.note_count = 1;
    CHECK(!snapshot_is_valid(&snapshot));
}

TEST_MAIN(TEST_CASE(a_file_is_read_in_pieces), TEST_CASE(what_is_looked_at_stays_the_next),
          TEST_CASE(memory_is_read_in_pieces), TEST_CASE(a_pipe_is_read_too),
          TEST_CASE(more_than_the_room_is_not_taken_at_once), TEST_CASE(what_cannot_be_opened),
          TEST_CASE(the_budget_is_kept), TEST_CASE(the_system_may_refuse_first),
          TEST_CASE(names_are_counted), TEST_CASE(places_are_numbered),
          TEST_CASE(a_damaged_snapshot_is_not_valid))
