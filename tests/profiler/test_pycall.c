/*
 * The way past a wrapper, on objects that are laid out as Python's functions are.
 */
#include "pycall.h"

#include <pthread.h>
#include <string.h>

#include "event.h"
#include "test.h"

enum { WORDS = 16, POINTER = 9, WORD_BYTES = sizeof(void *), HEAD = 2 * WORD_BYTES };

struct type {
    intptr_t head[4], size, more[2], vectorcall, rest[8];
};

struct function {
    void *head, *type, *words[WORDS - 2];
};

static struct type type;
static struct function wrapper, original;
static void *ran;

static void *plain(void *callable, void *const *args, size_t count, void *names)
{
    ran = callable;
    return args && count == 2 && names == &type ? args[1] : NULL;
}

static void *other(void *callable, void *const *args, size_t count, void *names)
{
    (void)callable, (void)args, (void)count, (void)names;
    return NULL;
}

static void put(struct function *function, pycall_function *runs)
{
    memset(function, 0, sizeof *function);
    function->type = &type;
    memcpy((char *)function + POINTER * sizeof(void *), &runs, sizeof runs);
}

static pycall_function *get(const struct function *function)
{
    pycall_function *runs;
    memcpy(&runs, (const char *)function + POINTER * sizeof(void *), sizeof runs);
    return runs;
}

static void set(void *function, pycall_function *runs)
{
    put(function, runs);
}

static void make(void)
{
    type = (struct type){.size = sizeof wrapper, .vectorcall = POINTER * sizeof(void *)};
    put(&wrapper, plain);
    put(&original, plain);
}

/* Whom a call of the wrapper runs. */
static void *called(void)
{
    void *args[2] = {&wrapper, &original};
    ran = NULL;
    CHECK(get(&wrapper)(&wrapper, args, 2, &type) == &original);
    return ran;
}

static void goes_past_inside_a_forward(pycall_set *setter)
{
    make();
    CHECK(pycall_shorten(&wrapper, &original, plain, setter, HEAD));
    CHECK(get(&wrapper) != plain);
    CHECK(get(&original) == plain);
    for (uint32_t kind = 0; kind < MARK_KIND_COUNT; kind++) {
        *pycall_inner_here() = kind;
        CHECK(called() == (kind == MARK_FORWARD ? (void *)&original : (void *)&wrapper));
    }
}

TEST(inside_a_forward_the_original_runs)
{
    goes_past_inside_a_forward(NULL);
}

TEST(python_may_set_the_pointer_itself)
{
    goes_past_inside_a_forward(set);
}

static void *call_elsewhere(void *unused)
{
    (void)unused;
    CHECK_INT(*pycall_inner_here(), 0);
    return called();
}

TEST(each_thread_has_its_own_forward)
{
    pthread_t thread;
    void *who = NULL;
    make();
    CHECK(pycall_shorten(&wrapper, &original, plain, NULL, HEAD));
    *pycall_inner_here() = MARK_FORWARD;
    CHECK_INT(pthread_create(&thread, NULL, call_elsewhere, NULL), 0);
    CHECK_INT(pthread_join(thread, &who), 0);
    CHECK(who == &wrapper);
    CHECK(called() == &original);
}

TEST(another_function_runs_itself)
{
    struct function copy;
    void *args[2] = {NULL, NULL};
    make();
    CHECK(pycall_shorten(&wrapper, &original, plain, NULL, HEAD));
    *pycall_inner_here() = MARK_FORWARD;
    put(&copy, get(&wrapper));
    get (&copy)(&copy, args, 2, &type);
    CHECK(ran == &copy);
}

TEST(one_pair_only)
{
    struct function second;
    make();
    CHECK(pycall_shorten(&wrapper, &original, plain, NULL, HEAD));
    put(&second, plain);
    CHECK(!pycall_shorten(&second, &original, plain, NULL, HEAD));
    CHECK(get(&second) == plain);
}

/* As free-threaded Pythons have them. */
TEST(objects_with_a_long_head)
{
    enum { LONG = 2 * HEAD, BEHIND = LONG / WORD_BYTES };
    static uintptr_t free_type[WORDS], functions[2][WORDS];
    pycall_function *runs = plain;
    void *args[2] = {&wrapper, &original};
    free_type[BEHIND + 2] = sizeof functions[0];
    free_type[BEHIND + 5] = POINTER * WORD_BYTES;
    for (int i = 0; i < 2; i++) {
        functions[i][BEHIND - 1] = (uintptr_t)free_type;
        memcpy(&functions[i][POINTER], &runs, sizeof runs);
    }
    CHECK(!pycall_shorten(functions[0], functions[1], plain, NULL, 3 * WORD_BYTES));
    CHECK(pycall_shorten(functions[0], functions[1], plain, NULL, LONG));
    memcpy(&runs, &functions[0][POINTER], sizeof runs);
    *pycall_inner_here() = MARK_FORWARD;
    CHECK(runs(functions[0], args, 2, &type) == &original);
    CHECK(ran == functions[1]);
    *pycall_inner_here() = 0;
    CHECK(runs(functions[0], args, 2, &type) == &original);
    CHECK(ran == functions[0]);
}

TEST(what_is_not_known_is_left_alone)
{
    static const struct {
        intptr_t size, offset;
    } wrong[] = {{0, 72},  {-8, 72},  {1 << 20, 72}, {128, 0},
                 {128, 8}, {128, 73}, {128, 124},    {72, 72}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        make();
        type.size = wrong[i].size;
        type.vectorcall = wrong[i].offset;
        CHECK(!pycall_shorten(&wrapper, &original, plain, NULL, HEAD));
        CHECK(get(&wrapper) == plain);
    }
    make();
    CHECK(!pycall_shorten(&wrapper, &original, other, NULL, HEAD));
    put(&original, other);
    CHECK(!pycall_shorten(&wrapper, &original, plain, NULL, HEAD));
    put(&original, plain);
    put(&wrapper, other);
    CHECK(!pycall_shorten(&wrapper, &original, plain, NULL, HEAD));
    CHECK(get(&wrapper) == other);
}

TEST_MAIN(TEST_CASE(inside_a_forward_the_original_runs),
          TEST_CASE(python_may_set_the_pointer_itself), TEST_CASE(each_thread_has_its_own_forward),
          TEST_CASE(another_function_runs_itself), TEST_CASE(one_pair_only),
          TEST_CASE(objects_with_a_long_head), TEST_CASE(what_is_not_known_is_left_alone))
