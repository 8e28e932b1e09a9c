/*
 * The guest library is found beside the program, installed or not, or where the environment says.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "error.h"
#include "guest_path.h"
#include "test.h"

/* An absolute path below the test's folder. */
static void path_below(char *out, const char *name)
{
    char real[PATH_MAX];
    REQUIRE(realpath(test_folder(), real) != NULL);
    REQUIRE(snprintf(out, PATH_MAX, "%s/%s", real, name) < PATH_MAX);
}

static void make_folder(const char *name)
{
    char path[PATH_MAX];
    path_below(path, name);
    REQUIRE(mkdir(path, 0755) == 0);
}

static void make_file(const char *name)
{
    char path[PATH_MAX];
    FILE *file;
    path_below(path, name);
    file = fopen(path, "w");
    REQUIRE(file != NULL);
    REQUIRE(fclose(file) == 0);
}

static void check_found(const char *exe, const char *library)
{
    char from[PATH_MAX], wanted[PATH_MAX], got[PATH_MAX];
    path_below(from, exe);
    path_below(wanted, library);
    CHECK_INT(guest_path_beside(from, got, sizeof got), BASE_OK);
    CHECK_STR(got, wanted);
}

TEST(installed_is_found)
{
    make_folder("bin");
    make_folder("lib");
    make_folder("lib/tidemark");
    make_file("lib/tidemark/libtidemark.so");
    check_found("bin/tidemark", "lib/tidemark/libtidemark.so");
}

TEST(build_tree_is_found)
{
    make_folder("viewer-cli");
    make_folder("profiler");
    make_file("profiler/libtidemark.so");
    check_found("viewer-cli/tidemark", "profiler/libtidemark.so");
}

/* A folder in the place of the file is not the file: the next place counts. */
TEST(installed_comes_first_if_it_is_a_file)
{
    make_folder("bin");
    make_folder("lib");
    make_folder("lib/tidemark");
    make_folder("lib/tidemark/libtidemark.so");
    make_folder("profiler");
    make_file("profiler/libtidemark.so");
    check_found("bin/tidemark", "profiler/libtidemark.so");
}

TEST(missing_is_said)
{
    char exe[PATH_MAX], got[PATH_MAX] = "before";
    make_folder("bin");
    path_below(exe, "bin/tidemark");
    CHECK_INT(guest_path_beside(exe, got, sizeof got), ERR_NOTFOUND);
    CHECK_STR(got, "");
    CHECK_INT(guest_path_beside("tidemark", got, sizeof got), ERR_ARG);
}

/* Named all the same: who starts it says why it cannot be loaded. */
TEST(one_that_may_not_be_read_is_named)
{
    char path[PATH_MAX], got[PATH_MAX];
    if (geteuid() == 0)
        SKIP("root may read everything");
    make_file("guest.so");
    path_below(path, "guest.so");
    REQUIRE(chmod(path, 0) == 0);
    REQUIRE(setenv("TIDEMARK_GUEST", path, 1) == 0);
    CHECK_INT(guest_path_find(got, sizeof got), ERR_DENIED);
    CHECK_STR(got, path);
}

TEST(small_buffer_is_an_error)
{
    char path[PATH_MAX], got[8] = "before";
    make_file("guest.so");
    path_below(path, "guest.so");
    REQUIRE(setenv("TIDEMARK_GUEST", path, 1) == 0);
    CHECK_INT(guest_path_find(got, sizeof got), ERR_LIMIT);
    CHECK_STR(got, "");
    CHECK_INT(guest_path_find(got, 0), ERR_LIMIT);
}

TEST(environment_comes_first)
{
    char path[PATH_MAX], got[PATH_MAX];
    make_file("guest.so");
    path_below(path, "guest.so");
    REQUIRE(setenv("TIDEMARK_GUEST", path, 1) == 0);
    CHECK_INT(guest_path_find(got, sizeof got), BASE_OK);
    CHECK_STR(got, path);
    REQUIRE(unlink(path) == 0);
    CHECK_INT(guest_path_find(got, sizeof got), ERR_NOTFOUND);
}

/* This test program stands in <build>/tests/lint, where neither place is. */
TEST(without_environment_the_program_is_asked)
{
    char got[PATH_MAX];
    REQUIRE(unsetenv("TIDEMARK_GUEST") == 0);
    CHECK_INT(guest_path_find(got, sizeof got), ERR_NOTFOUND);
    REQUIRE(setenv("TIDEMARK_GUEST", "", 1) == 0);
    CHECK_INT(guest_path_find(got, sizeof got), ERR_NOTFOUND);
}

TEST_MAIN(TEST_CASE(installed_is_found), TEST_CASE(build_tree_is_found),
          TEST_CASE(installed_comes_first_if_it_is_a_file), TEST_CASE(missing_is_said),
          TEST_CASE(one_that_may_not_be_read_is_named), TEST_CASE(small_buffer_is_an_error),
          TEST_CASE(environment_comes_first), TEST_CASE(without_environment_the_program_is_asked))
