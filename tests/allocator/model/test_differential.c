/*
 * test_differential.c - the allocator against the model, in many runs of random operations.
 *
 *     test_alloc_differential [RUNS [FIRST]]     runs FIRST, FIRST + 1, ... (400 from 1)
 *
 * Each run has a child process of its own, so that a crash is a difference like any other; the
 * operations lie in shared memory. When a run differs, operations are left out as long as it still
 * differs, and what remains is printed. Exit: 0 no difference, 1 a difference, 99 no machine for
 * it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "generate.h"
#include "operation.h"
#include "pair.h"

#define OPERATIONS 1000
#define WALK_EACH 16
#define LIST_AT_MOST 80

/* What a child leaves behind. */
struct paper {
    size_t count; /* operations begun */
    bool finished;
    char difference[400];
    struct operation operations[OPERATIONS];
};

static void write_down(struct paper *paper, const struct pair *pair)
{
    memcpy(paper->difference, pair->difference, sizeof paper->difference);
    paper->finished = true;
}

/* ---- in the child ---- */

static void generate_run(struct paper *paper, uint64_t number, const struct setup *setup)
{
    struct generator generator;
    struct setup ignored;
    struct pair pair;
    generator_open(&generator, number, &ignored);
    bool equal = pair_open(&pair, setup, OPERATIONS);
    for (unsigned i = 0; equal && i < OPERATIONS; i++) {
        paper->operations[i] = generator_next(&generator, &pair, i);
        paper->count = i + 1;
        equal = pair_do(&pair, &paper->operations[i]) && (i % WALK_EACH != 0 || pair_walk(&pair));
    }
    if (equal)
        equal = pair_walk(&pair);
    pair_close(&pair);
    write_down(paper, &pair);
}

static void repeat_run(struct paper *paper, const struct setup *setup)
{
    struct pair pair;
    bool equal = pair_open(&pair, setup, OPERATIONS) && pair_walk(&pair);
    for (size_t i = 0; equal && i < paper->count; i++)
        equal = pair_do(&pair, &paper->operations[i]) && pair_walk(&pair);
    pair_close(&pair);
    write_down(paper, &pair);
}

/* ---- around the child ---- */

/* True: it found no difference. A number of 0 repeats what is on the paper. */
static bool run_child(struct paper *paper, uint64_t number, const struct setup *setup, bool quiet)
{
    paper->finished = false;
    paper->difference[0] = '\0';
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        exit(99);
    if (child == 0) {
        if (quiet && freopen("/dev/null", "w", stderr) == NULL)
            _exit(99);
        if (number != 0)
            generate_run(paper, number, setup);
        else
            repeat_run(paper, setup);
        exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child)
        exit(99);
    if (!paper->finished)
        snprintf(paper->difference, sizeof paper->difference, "it died (%s %d)",
                 WIFSIGNALED(status) ? "signal" : "exit",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    else if (status != 0 && paper->difference[0] == '\0')
        snprintf(paper->difference, sizeof paper->difference, "it ended with %d", status);
    return paper->difference[0] == '\0';
}

/* Of the same kind, so that the search for few operations does not go astray. */
static bool is_alike(const char *a, const char *b)
{
    return strncmp(a, b, strcspn(a, ":0123456789")) == 0;
}

/* Leaves out `width` operations from `at` on, if it still differs without them. */
static bool leave_out(struct paper *paper, const struct setup *setup, size_t at, size_t width)
{
    static struct operation kept[OPERATIONS];
    size_t count = paper->count;
    memcpy(kept, paper->operations, sizeof kept);
    memmove(paper->operations + at, paper->operations + at + width,
            (count - at - width) * sizeof *paper->operations);
    paper->count = count - width;
    char difference[sizeof paper->difference];
    memcpy(difference, paper->difference, sizeof difference);
    if (!run_child(paper, 0, setup, true) && is_alike(difference, paper->difference))
        return true;
    memcpy(paper->difference, difference, sizeof difference);
    memcpy(paper->operations, kept, sizeof kept);
    paper->count = count;
    return false;
}

/* One round of leaving out, from the end; true if something went. */
static bool leave_out_all(struct paper *paper, const struct setup *setup, size_t width)
{
    bool less = false;
    for (size_t at = paper->count; at >= width; at -= width) {
        less = leave_out(paper, setup, at - width, width) || less;
        if (at - width < width)
            break;
    }
    return less;
}

static void shrink(struct paper *paper, const struct setup *setup)
{
    if (run_child(paper, 0, setup, true)) {
        printf("    (it does not differ when it is repeated)\n");
        return;
    }
    for (size_t width = paper->count / 2; width > 1; width /= 2)
        leave_out_all(paper, setup, width);
    while (paper->count > 1 && leave_out_all(paper, setup, 1))
        ;
    run_child(paper, 0, setup, false);
}

static void report(struct paper *paper, uint64_t number, const struct setup *setup)
{
    printf("run %" PRIu64 ", operation %zu: %s\n", number, paper->count - 1, paper->difference);
    shrink(paper, setup);
    printf("  as few operations as still differ: %s\n", paper->difference);
    operation_print_setup(setup);
    for (size_t i = 0; i < paper->count && i < LIST_AT_MOST; i++)
        operation_print(&paper->operations[i]);
    fflush(stdout);
}

/* A model that is wrong on purpose must be found out, and in few operations. */
static bool notices_a_wrong_model(struct paper *paper)
{
    struct generator generator;
    struct setup setup;
    for (uint64_t number = 1; number < 20; number++) {
        generator_open(&generator, number, &setup);
        setup.spoilt = true;
        if (run_child(paper, number, &setup, true))
            continue;
        shrink(paper, &setup);
        if (paper->count <= 20)
            return true;
    }
    printf("a wrong model was not noticed\n");
    return false;
}

int main(int argc, char **argv)
{
    uint64_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 400;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    uint64_t operations = 0;
    unsigned differences = 0;
    struct paper *paper =
        mmap(NULL, sizeof *paper, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (paper == MAP_FAILED)
        return 99;
    if (!notices_a_wrong_model(paper))
        return 1;
    for (uint64_t number = first; number - first < runs && differences < 3; number++) {
        struct generator generator;
        struct setup setup;
        generator_open(&generator, number, &setup);
        if (!run_child(paper, number, &setup, false)) {
            report(paper, number, &setup);
            differences++;
        }
        operations += paper->count;
    }
    printf("%" PRIu64 " operations compared, %u runs differ\n", operations, differences);
    return differences == 0 ? 0 : 1;
}
