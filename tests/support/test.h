/*
 * test.h - the little that a C test needs. A test program has cases; each runs in a child process
 * of its own, so that a crash is one failed case. Exit: 0 all passed, 1 some failed, 77 all
 * skipped, 99 the harness itself broke.
 *
 *     TEST(map_finds_what_was_put) { CHECK_INT(map_get(&map, 7), 3); }
 *     TEST_MAIN(TEST_CASE(map_finds_what_was_put))
 *
 * `prog NAME` runs one case; `prog --no-fork NAME` without a child, for a debugger.
 */
#ifndef TIDEMARK_TESTS_TEST_H
#define TIDEMARK_TESTS_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test_case {
    const char *name;
    void (*run)(void);
};

#define TEST(name) static void name(void)
#define TEST_CASE(name)                                                                            \
    {                                                                                              \
#name, name                                                                                \
    }
#define TEST_MAIN(...)                                                                             \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const struct test_case cases[] = {__VA_ARGS__};                                     \
        return test_run(argc, argv, cases, sizeof cases / sizeof *cases);                          \
    }

int test_run(int argc, char **argv, const struct test_case *cases, size_t count);

/* A failed CHECK prints both values and goes on; a REQUIRE ends the case. */
#define CHECK(what) ((void)test_check((what), __FILE__, __LINE__, #what))
#define REQUIRE(what) test_require((what), __FILE__, __LINE__, #what)
#define CHECK_INT(got, want)                                                                       \
    ((void)test_check_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got))
#define CHECK_STR(got, want) ((void)test_check_str((got), (want), __FILE__, __LINE__, #got))
#define SKIP(why) test_skip(why)

bool test_check(bool passed, const char *file, int line, const char *what);
void test_require(bool passed, const char *file, int line, const char *what);
bool test_check_int(int64_t got, int64_t want, const char *file, int line, const char *what);
bool test_check_str(const char *got, const char *want, const char *file, int line,
                    const char *what);
_Noreturn void test_skip(const char *why);

/* A new empty folder, removed with its content when the case ends. */
const char *test_folder(void);
/* A path inside it; valid until the case ends. */
const char *test_path(const char *name);
/* The long form was asked for: the test is labelled slow (tidemark_test_long). Otherwise it is to
 * be done in a second or two, with as much of the same as can fail. */
bool test_is_long(void);
/* Which allocation fails after the nth: each of the first forty, which every report has in common,
 * then ever fewer, from one in seven on, for each costs as much as those before it have in common;
 * in the long form each. */
long test_next_failure(long n);
/* A cheap generator of numbers: the same for the same seed. */
uint64_t test_random(uint64_t *seed);

#endif
