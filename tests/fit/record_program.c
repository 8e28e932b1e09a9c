/*
 * record_program FOLDER: some random programs, recorded into FOLDER/NAME.db for check_fit.py. Their
 * device gives addresses in ascending order, so that a model of the policy needs none from us.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "test.h"

#define MIB (UINT64_C(1) << 20)

static const struct {
    const char *name;
    struct program program;
} programs[] = {
    {"small", {.seed = 1, .calls = 2500, .living = 300, .streams = 1, .largest = 3 * MIB}},
    {"large", {.seed = 2, .calls = 1500, .living = 80, .streams = 1, .largest = 300 * MIB}},
    {"mixed", {.seed = 3, .calls = 2500, .living = 150, .streams = 1, .largest = 60 * MIB}},
    {"streams", {.seed = 4, .calls = 2500, .living = 150, .streams = 4, .largest = 60 * MIB}},
    {"waits",
     {.seed = 5, .calls = 2500, .living = 150, .streams = 3, .largest = 60 * MIB, .waits = true}},
    {"empties",
     {.seed = 6, .calls = 1500, .living = 100, .streams = 1, .largest = 60 * MIB, .empties = 300}},
    {"middle",
     {.seed = 8,
      .calls = 2500,
      .living = 100,
      .streams = 2,
      .largest = 60 * MIB,
      .waits = true,
      .rebuilt = 900}},
    {"blocks",
     {.seed = 7,
      .calls = 1500,
      .living = 100,
      .streams = 1,
      .largest = 60 * MIB,
      .no_requests = true}},
};

static const char *folder;

TEST(record)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char command[1024];
        struct program program = programs[i].program;
        struct program_result result;
        program.ascending = true;
        struct db *db = program_record(programs[i].name, &program, &result);
        REQUIRE(db_checkpoint(db, true) == 0 && db_single_file(db) == 0);
        db_close(db);
        snprintf(command, sizeof command, "cp '%s' '%s/%s.db'", test_path(programs[i].name), folder,
                 programs[i].name);
        REQUIRE(system(command) == 0);
    }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {TEST_CASE(record)};
    if (argc != 2)
        return 99;
    folder = argv[1];
    return test_run(1, argv, cases, 1);
}
