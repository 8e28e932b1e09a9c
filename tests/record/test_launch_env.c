/* The words in a recorded program's environment: set, joined with what was there, taken out. */
#include "launch_env.h"

#include <string.h>

#include "hello.h"
#include "mem.h"
#include "test.h"

/* The value of a name, NULL if it is not there; *times gets how often it is. */
static const char *value_of(char *const *list, const char *name, int *times)
{
    const char *value = NULL;
    size_t bytes = strlen(name);
    *times = 0;
    for (; *list; list++) {
        if (strncmp(*list, name, bytes) || (*list)[bytes] != '=')
            continue;
        value = *list + bytes + 1;
        ++*times;
    }
    return value;
}

static void check_word(char *const *list, const char *name, const char *want)
{
    int times;
    CHECK_STR(value_of(list, name, &times), want);
    CHECK_INT(times, want ? 1 : 0);
}

static const struct launch_words usual = {.guest = "/g.so",
                                          .socket = "a-socket",
                                          .door = "/a/door",
                                          .key = "a-key",
                                          .recording = "/run.db",
                                          .python = "/helper"};

TEST(words_come_into_an_empty_environment)
{
    char *nothing[] = {NULL};
    char **list = launch_env(nothing, &usual);
    REQUIRE(list != NULL);
    check_word(list, "LD_PRELOAD", "/g.so");
    check_word(list, HELLO_ENV, "a-socket");
    check_word(list, HELLO_DOOR_ENV, "/a/door");
    check_word(list, HELLO_KEY_ENV, "a-key");
    check_word(list, "TIDEMARK_RECORDING", "/run.db");
    check_word(list, "PYTHONPATH", "/helper");
    check_word(list, "ASAN_OPTIONS", "verify_asan_link_order=0");
    check_word(list, "TIDEMARK_STACKS", NULL);
    check_word(list, "TIDEMARK_PHASES", NULL);
    check_word(list, "TIDEMARK_HISTORY", NULL);
    check_word(list, LAUNCH_CUDA, "/g.so");
    check_word(list, "TIDEMARK_CUPTI", NULL);
    mem_free(list);
}

TEST(what_was_there_stays_behind_ours)
{
    char asan[] = "ASAN_OPTIONS=exitcode=7";
    char preload[] = "LD_PRELOAD=/other.so", path[] = "PYTHONPATH=a:b", home[] = "HOME=/h";
    char nearly[] = "LD_PRELOADED=x", bare[] = "NOTHING";
    char *old[] = {home, preload, nearly, path, asan, bare, NULL};
    char **list = launch_env(old, &usual);
    REQUIRE(list != NULL);
    check_word(list, "LD_PRELOAD", "/g.so:/other.so");
    check_word(list, "PYTHONPATH", "/helper:a:b");
    check_word(list, "ASAN_OPTIONS", "verify_asan_link_order=0:exitcode=7");
    check_word(list, "HOME", "/h");
    check_word(list, "LD_PRELOADED", "x");
    CHECK_STR(list[0], "HOME=/h"); /* in the order in which they were */
    CHECK_STR(list[1], "LD_PRELOADED=x");
    CHECK_STR(list[2], "NOTHING");
    mem_free(list);
}

/* An empty PYTHONPATH is none to Python; a colon at its end would be the current folder. */
TEST(an_empty_old_value_leaves_no_colon)
{
    char preload[] = "LD_PRELOAD=", path[] = "PYTHONPATH=";
    char *old[] = {preload, path, NULL};
    char **list = launch_env(old, &usual);
    REQUIRE(list != NULL);
    check_word(list, "LD_PRELOAD", "/g.so");
    check_word(list, "PYTHONPATH", "/helper");
    mem_free(list);
}

TEST(a_recording_inside_a_recording_has_its_own_words)
{
    char socket[] = HELLO_ENV "=older", stacks[] = "TIDEMARK_STACKS=0";
    char door[] = HELLO_DOOR_ENV "=/older/door";
    char phases[] = "TIDEMARK_PHASES=off", history[] = "TIDEMARK_HISTORY=1";
    char kernels[] = "TIDEMARK_KERNELS=1", injected[] = LAUNCH_CUDA "=/older/g.so";
    char *old[] = {socket, door, stacks, phases, history, kernels, injected, NULL};
    char **list = launch_env(old, &usual);
    REQUIRE(list != NULL);
    check_word(list, HELLO_ENV, "a-socket");
    check_word(list, "TIDEMARK_STACKS", NULL);
    check_word(list, "TIDEMARK_PHASES", NULL);
    check_word(list, "TIDEMARK_HISTORY", NULL);
    check_word(list, "TIDEMARK_KERNELS", NULL);
    mem_free(list);
    struct launch_words plain = {.guest = "/g.so",
                                 .socket = "a-socket",
                                 .door = "",
                                 .wants.no_stacks = true,
                                 .wants.no_phases = true,
                                 .wants.history = true,
                                 .wants.no_cupti = true,
                                 .wants.kernels = true};
    list = launch_env(old, &plain);
    REQUIRE(list != NULL);
    check_word(list, "TIDEMARK_STACKS", "0");
    check_word(list, "TIDEMARK_PHASES", "off");
    check_word(list, "TIDEMARK_HISTORY", "1");
    check_word(list, "TIDEMARK_CUPTI", "0");
    check_word(list, "TIDEMARK_KERNELS", "1");
    check_word(list, LAUNCH_CUDA, NULL);
    check_word(list, "PYTHONPATH", NULL);
    mem_free(list);
}

/* Of another tool, of another Tidemark, of nobody. */
TEST(another_tools_injection_is_left_alone)
{
    char nsys[] = LAUNCH_CUDA "=/opt/nsys/libToolsInjection64.so", mine[] = "TIDEMARK_CUPTI=/c.so";
    char outer[] = LAUNCH_CUDA "=/elsewhere/g.so", empty[] = LAUNCH_CUDA "=";
    char *foreign[] = {nsys, mine, NULL}, *older[] = {outer, NULL}, *none[] = {empty, NULL};
    char **list = launch_env(foreign, &usual);
    REQUIRE(list != NULL);
    check_word(list, LAUNCH_CUDA, "/opt/nsys/libToolsInjection64.so");
    check_word(list, "TIDEMARK_CUPTI", "/c.so");
    mem_free(list);
    CHECK_STR(launch_foreign(foreign, LAUNCH_CUDA, "/g.so"), "/opt/nsys/libToolsInjection64.so");
    CHECK(launch_foreign(older, LAUNCH_CUDA, "/g.so") == NULL);
    CHECK(launch_foreign(none, LAUNCH_CUDA, "/g.so") == NULL);
    list = launch_env(older, &usual);
    REQUIRE(list != NULL);
    check_word(list, LAUNCH_CUDA, "/g.so");
    mem_free(list);
    list = launch_env(none, &usual);
    REQUIRE(list != NULL);
    check_word(list, LAUNCH_CUDA, "/g.so");
    mem_free(list);
}

TEST(without_a_helper_pythonpath_is_left_alone)
{
    char path[] = "PYTHONPATH=mine";
    char *old[] = {path, NULL};
    struct launch_words plain = {.guest = "/g.so", .socket = "a-socket"};
    char **list = launch_env(old, &plain);
    REQUIRE(list != NULL);
    check_word(list, "PYTHONPATH", "mine");
    mem_free(list);
}

/* One variable names one library: another tool's stays, and ours of an older recording does not. */
TEST(another_library_that_listens_to_nvtx_is_left_alone)
{
    static const struct {
        const char *was, *want;
        bool foreign, off;
    } cases[] = {
        {NULL, "/g.so", false, false},
        {"", "/g.so", false, false},
        {"/opt/other/g.so", "/g.so", false, false},
        {"/opt/nsys/libToolsInjection64.so", "/opt/nsys/libToolsInjection64.so", true, false},
        {"libToolsInjection64.so", "libToolsInjection64.so", true, true},
        {"/g.so", NULL, false, true},
        {NULL, NULL, false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char entry[100] = LAUNCH_NVTX "=", longer[] = LAUNCH_NVTX "_2=x";
        char *old[] = {longer, cases[i].was ? entry : NULL, NULL};
        struct launch_words words = usual;
        words.wants.no_nvtx = cases[i].off;
        if (cases[i].was)
            strcat(entry, cases[i].was);
        char **list = launch_env(old, &words);
        REQUIRE(list != NULL);
        check_word(list, LAUNCH_NVTX, cases[i].want);
        check_word(list, LAUNCH_NVTX "_2", "x");
        const char *foreign = launch_foreign(old, LAUNCH_NVTX, words.guest);
        CHECK((foreign != NULL) == cases[i].foreign);
        if (foreign)
            CHECK_STR(foreign, cases[i].was);
        mem_free(list);
    }
    CHECK(launch_foreign(NULL, LAUNCH_NVTX, "/g.so") == NULL);
}

TEST(without_memory_there_is_none)
{
    char *nothing[] = {NULL};
    mem_fail_after(1);
    CHECK(launch_env(nothing, &usual) == NULL);
    mem_fail_after(0);
}

TEST_MAIN(TEST_CASE(words_come_into_an_empty_environment),
          TEST_CASE(what_was_there_stays_behind_ours),
          TEST_CASE(an_empty_old_value_leaves_no_colon),
          TEST_CASE(a_recording_inside_a_recording_has_its_own_words),
          TEST_CASE(another_tools_injection_is_left_alone),
          TEST_CASE(without_a_helper_pythonpath_is_left_alone),
          TEST_CASE(another_library_that_listens_to_nvtx_is_left_alone),
          TEST_CASE(without_memory_there_is_none))
