/* A program without Python: no stacks, no harm, no cost; and the search for symbols. */
#include "pyframes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "guest_support.h"
#include "symbols.h"

TEST(without_python_there_is_no_site)
{
    begin_recording(6, 1 << 16);
    errno = EDOM;
    for (int i = 0; i < 100000; i++)
        REQUIRE(pyframes_site() == 0);
    CHECK_INT(errno, EDOM);
    CHECK(!pyframes_start());
    CHECK(pyframes_why_not() == NULL);
    CHECK_INT(arena_count(&guest.ring->arena), 0);
}

TEST(symbols_are_found_in_loaded_objects)
{
    struct symbol symbols[] = {
        {.name = "puts"}, {.name = "no_such_symbol_anywhere"}, {.name = "strtol"}, {.name = ""}};
    symbols_find(symbols, sizeof symbols / sizeof *symbols);
    CHECK(symbols[1].address == NULL && symbols[3].address == NULL);
    REQUIRE(symbols[0].address != NULL && symbols[2].address != NULL);
    CHECK(symbols[0].bytes > 0 && symbols[1].bytes == 0);
    long (*number)(const char *, char **, int);
    memcpy(&number, &symbols[2].address, sizeof number);
    CHECK_INT(number("77", NULL, 8), 63);
}

TEST_MAIN(TEST_CASE(without_python_there_is_no_site),
          TEST_CASE(symbols_are_found_in_loaded_objects))
