/*
 * The samples with fake_attach preloaded, as `tidemark record` preloads the guest: what arrives
 * must give, counted by somebody else, the very rows that the sample printed.
 */
#include "rows.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ending {
    unsigned blocks, segments, errors;
};

/* Splits off the last line of the file: "end,...". */
static struct ending take_ending(const char *path)
{
    struct ending ending = {1, 1, 1};
    char line[256];
    long rows_end = 0;
    FILE *file = fopen(path, "r+");
    REQUIRE(file != NULL);
    while (fgets(line, sizeof line, file) && strncmp(line, "end,", 4) != 0)
        rows_end = ftell(file);
    REQUIRE(sscanf(line, "end,%u,%u,%u", &ending.blocks, &ending.segments, &ending.errors) == 3);
    fclose(file);
    char command[512];
    snprintf(command, sizeof command, "truncate -s %ld %s", rows_end, path);
    REQUIRE(system(command) == 0);
    return ending;
}

static void run_preloaded(const char *program, struct rows *printed, struct rows *arrived)
{
    char command[1024];
    const char *path = test_path("arrived");
    snprintf(command, sizeof command, "FAKE_ATTACH_FILE=%s LD_PRELOAD=%s %s", path, FAKE_ATTACH,
             program);
    REQUIRE(rows_run(command, printed) == 0);
    struct ending ending = take_ending(path);
    CHECK_INT(ending.errors, 0);
    CHECK_INT(ending.blocks, 0);
    CHECK_INT(ending.segments, 0);
    REQUIRE(rows_read(path, arrived));
}

static void check_same(const char *program)
{
    struct rows printed, arrived;
    run_preloaded(program, &printed, &arrived);
    REQUIRE(printed.count == arrived.count && printed.count > 0);
    for (size_t i = 0; i < printed.count; i++) {
        const struct row *a = &printed.row[i], *b = &arrived.row[i];
        CHECK_INT(a->step, b->step);
        CHECK_STR(a->phase, b->phase);
        CHECK_INT(a->allocated, b->allocated);
        CHECK_INT(a->max_allocated, b->max_allocated);
        CHECK_INT(a->reserved, b->reserved);
        CHECK_INT(a->max_reserved, b->max_reserved);
    }
}

TEST(what_arrives_is_what_was_printed)
{
    check_same(SEQ2SEQ " --csv");
    check_same(SEQ2SEQ " --csv --batch=3 --length=7 --vocab=99 --hidden=40 --steps=9");
}

TEST(it_prints_the_same_when_nobody_records)
{
    struct rows alone, recorded, arrived;
    REQUIRE(rows_run(SEQ2SEQ " --csv", &alone) == 0);
    run_preloaded(SEQ2SEQ " --csv", &recorded, &arrived);
    REQUIRE(alone.count == recorded.count);
    for (size_t i = 0; i < alone.count; i++)
        CHECK(memcmp(&alone.row[i].allocated, &recorded.row[i].allocated, 5 * sizeof(int64_t)) ==
              0);
}

TEST(the_smallest_program)
{
    struct rows printed, arrived;
    CHECK_INT(system(MINIMAL), 0);
    run_preloaded(MINIMAL, &printed, &arrived);
    CHECK_INT(printed.count, 0);
    REQUIRE(arrived.count == 4);
    for (int64_t step = 0; step < 2; step++) {
        CHECK_INT(rows_find(&arrived, step, "forward")->allocated, 5 << 20);
        CHECK_INT(rows_find(&arrived, step, "backward")->allocated, 1 << 20);
        CHECK_INT(rows_find(&arrived, step, "backward")->max_allocated, 5 << 20);
    }
}

TEST_MAIN(TEST_CASE(what_arrives_is_what_was_printed),
          TEST_CASE(it_prints_the_same_when_nobody_records), TEST_CASE(the_smallest_program))
