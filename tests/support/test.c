#include "test.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PASSED = 0, FAILED = 1, SKIPPED = 77, BROKEN = 99 };

static int failures;
static char folder[512];

bool test_check(bool passed, const char *file, int line, const char *what)
{
    if (!passed) {
        failures++;
        fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
    }
    return passed;
}

void test_require(bool passed, const char *file, int line, const char *what)
{
    if (!test_check(passed, file, line, what))
        exit(FAILED);
}

bool test_check_int(int64_t got, int64_t want, const char *file, int line, const char *what)
{
    if (got != want) {
        failures++;
        fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", file, line, what, (long long)got,
                (long long)want);
    }
    return got == want;
}

bool test_check_str(const char *got, const char *want, const char *file, int line, const char *what)
{
    bool same = got && want ? strcmp(got, want) == 0 : got == want;
    if (!same) {
        failures++;
        fprintf(stderr, "%s:%d: %s is \"%s\", expected \"%s\"\n", file, line, what,
                got ? got : "(null)", want ? want : "(null)");
    }
    return same;
}

void test_skip(const char *why)
{
    fprintf(stderr, "skipped: %s\n", why);
    exit(SKIPPED);
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info;
    (void)type;
    (void)walk;
    return remove(path);
}

static pid_t folder_owner;

static void remove_folder(void)
{
    if (folder[0] && folder_owner == getpid())
        nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_folder(void)
{
    if (!folder[0]) {
        const char *base = getenv("TMPDIR");
        snprintf(folder, sizeof folder, "%s/tidemark-test-XXXXXX", base && *base ? base : "/tmp");
        if (!mkdtemp(folder)) {
            fprintf(stderr, "cannot make %s: %s\n", folder, strerror(errno));
            exit(BROKEN);
        }
        folder_owner = getpid();
        atexit(remove_folder);
    }
    return folder;
}

/* Every path given out, newest first, so that a leak checker sees them held until the end. */
static struct test_path_entry {
    struct test_path_entry *next;
    char path[];
} * paths;

const char *test_path(const char *name)
{
    size_t bytes = strlen(test_folder()) + strlen(name) + 2;
    struct test_path_entry *entry = malloc(sizeof *entry + bytes);
    if (!entry)
        exit(BROKEN);
    snprintf(entry->path, bytes, "%s/%s", test_folder(), name);
    entry->next = paths;
    paths = entry;
    return entry->path;
}

bool test_is_long(void)
{
    const char *asked = getenv("TIDEMARK_TEST_LONG");
    return asked && *asked;
}

long test_next_failure(long n)
{
    return n + (n < 40 || test_is_long() ? 1 : 7 + n / 24);
}

uint64_t test_random(uint64_t *seed)
{
    uint64_t x = (*seed += 0x9e3779b97f4a7c15ull);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static _Noreturn void run_here(const struct test_case *test)
{
    test->run();
    exit(failures ? FAILED : PASSED);
}

static int run_in_child(const struct test_case *test)
{
    fflush(NULL);
    pid_t child = fork();
    if (child < 0)
        return BROKEN;
    if (child == 0)
        run_here(test);
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return BROKEN;
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: killed by signal %d\n", test->name, WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

int test_run(int argc, char **argv, const struct test_case *cases, size_t count)
{
    bool fork_each = true;
    const char *only = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-fork") == 0)
            fork_each = false;
        else if (!only)
            only = argv[i]; /* what follows the name is the case's own */
    }
    size_t ran = 0, skipped = 0, failed = 0;
    for (size_t i = 0; i < count; i++) {
        if (only && strcmp(only, cases[i].name) != 0)
            continue;
        ran++;
        if (!fork_each)
            run_here(&cases[i]);
        int result = run_in_child(&cases[i]);
        if (result == BROKEN)
            return BROKEN;
        if (result == SKIPPED)
            skipped++;
        else if (result != PASSED)
            failed++;
        printf("%s %s\n",
               result == PASSED    ? "ok  "
               : result == SKIPPED ? "skip"
                                   : "FAIL",
               cases[i].name);
    }
    if (ran == 0) {
        fprintf(stderr, "no case called %s\n", only ? only : "anything");
        return BROKEN;
    }
    return failed ? FAILED : skipped == ran ? SKIPPED : PASSED;
}
