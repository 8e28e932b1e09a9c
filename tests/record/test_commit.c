/* The commit of a program's folder, in repositories that are made of files here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "commit.h"
#include "test.h"

#define A "1111111111111111111111111111111111111111"
#define B "2222222222222222222222222222222222222222"
#define LONG A "333333333333333333333333"

/* With the folders around it. */
static void put(const char *name, const char *text)
{
    char path[4096];
    snprintf(path, sizeof path, "%s", test_path(name));
    for (char *at = path + strlen(test_path("")); (at = strchr(at, '/')); at++) {
        *at = '\0';
        mkdir(path, 0755);
        *at = '/';
    }
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    fputs(text, file);
    fclose(file);
}

static void expect(const char *folder, const char *commit)
{
    struct buf found = {0};
    bool known = commit_of_folder(test_path(folder), &found);
    CHECK_STR(buf_string(&found), commit);
    CHECK(known == (*commit != '\0'));
    buf_clear(&found);
}

TEST(heads_of_all_kinds)
{
    put("loose/.git/HEAD", "ref: refs/heads/main\n");
    put("loose/.git/refs/heads/main", A "\n");
    put("loose/.git/packed-refs", B " refs/heads/main\n"); /* the loose one is newer */
    put("loose/src/deep/t.py", "");
    expect("loose", A);
    expect("loose/src/deep", A);
    put("packed/.git/HEAD", "ref: refs/heads/a/b\r\n");
    put("packed/.git/packed-refs", "# pack-refs with: peeled fully-peeled sorted\n" A
                                   " refs/heads/a/bc\n^" A "\n" B " refs/heads/a/b\n");
    expect("packed", B);
    put("detached/.git/HEAD", LONG "\n");
    expect("detached", LONG);
}

TEST(worktrees_and_submodules)
{
    put("all/.git/HEAD", A "\n");
    put("all/.git/refs/heads/side", B "\n");
    put("all/.git/worktrees/w/HEAD", "ref: refs/heads/side\n");
    put("all/.git/worktrees/w/commondir", "../..\n");
    put("w/x", "");
    char text[4096];
    snprintf(text, sizeof text, "gitdir: %s\n", test_path("all/.git/worktrees/w"));
    put("w/.git", text);
    expect("w", B);
    put("all/.git/modules/m/HEAD", LONG "\n");
    put("all/m/.git", "gitdir: ../.git/modules/m\n");
    expect("all/m", LONG);
}

TEST(what_is_no_commit)
{
    expect("nothing here", "");
    put("born/.git/HEAD", "ref: refs/heads/main\n"); /* without a commit yet */
    expect("born", "");
    put("short/.git/HEAD", "1234\n");
    expect("short", "");
    put("loop/.git/HEAD", "ref: refs/heads/a\n");
    put("loop/.git/refs/heads/a", "ref: refs/heads/a\n");
    expect("loop", "");
    put("out/secret", A "\n");
    put("out/r/.git/HEAD", "ref: refs/../../../secret\n");
    expect("out/r", "");
    put("out/q/.git/HEAD", "ref: ../../secret\n");
    expect("out/q", "");
    put("pipe/.git/config", "");
    REQUIRE(mkfifo(test_path("pipe/.git/HEAD"), 0600) == 0);
    expect("pipe", "");
    put("lost/.git", "gitdir: nowhere\n");
    expect("lost", "");
}

static void expect_of(const char *folder, const char *const *argv, const char *commit)
{
    struct buf found = {0};
    commit_find(folder, argv, &found);
    CHECK_STR(buf_string(&found), commit);
    buf_clear(&found);
}

TEST(the_script_goes_before_the_folder_and_the_environment_before_both)
{
    put("one/.git/HEAD", A "\n");
    put("one/job/t.py", "");
    put("two/.git/HEAD", B "\n");
    char script[4096], two[4096];
    snprintf(script, sizeof script, "%s", test_path("one/job/t.py"));
    snprintf(two, sizeof two, "%s", test_path("two"));
    unsetenv("TIDEMARK_COMMIT");
    unsetenv("GITHUB_SHA");
    unsetenv("CI_COMMIT_SHA");
    expect_of(two, (const char *[]){"python3", "-u", script, NULL}, A);
    expect_of(two, (const char *[]){"python3", "-m", "job", NULL}, B);
    expect_of(test_path("one"), (const char *[]){"python3", "job/t.py", NULL}, A);
    expect_of("/", (const char *[]){script, NULL}, A);
    expect_of("/", (const char *[]){"python3", NULL}, "");
    put("one/bin/python3.11", "");
    char python[4096];
    snprintf(python, sizeof python, "%s", test_path("one/bin/python3.11"));
    expect_of("/", (const char *[]){python, "-m", "job", NULL}, "");
    setenv("CI_COMMIT_SHA", "ci", 1);
    expect_of(two, (const char *[]){"python3", NULL}, "ci");
    setenv("GITHUB_SHA", "github", 1);
    expect_of(two, (const char *[]){"python3", NULL}, "github");
    setenv("TIDEMARK_COMMIT", "v1.2-3", 1);
    expect_of(two, (const char *[]){"python3", NULL}, "v1.2-3");
    setenv("TIDEMARK_COMMIT", "", 1);
    expect_of(two, (const char *[]){"python3", NULL}, "");
    setenv("TIDEMARK_COMMIT", "two words", 1);
    setenv("GITHUB_SHA", "", 1);
    unsetenv("CI_COMMIT_SHA");
    expect_of(two, (const char *[]){"python3", NULL}, B);
}

TEST_MAIN(TEST_CASE(heads_of_all_kinds), TEST_CASE(worktrees_and_submodules),
          TEST_CASE(what_is_no_commit),
          TEST_CASE(the_script_goes_before_the_folder_and_the_environment_before_both))
