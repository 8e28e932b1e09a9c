/*
 * The helper's frequent calls as Python's own functions, by an interpreter that is made up here:
 * an object is a number, or none.
 */
#include "guest_support.h"
#include "pyapi.h"

/* PyMethodDef, as Python's documentation has it. */
struct method {
    const char *name;
    void *(*function)(void *self, void *const *args, intptr_t count);
    int flags;
    const char *doc;
};

struct object {
    bool is_number;
    uint64_t number;
};

static bool failed;
static struct object zero = {true, 0};

static uint64_t number_of(void *object)
{
    const struct object *is = object;
    failed = !is->is_number;
    return failed ? UINT64_MAX : is->number;
}

static void *object_of(long number)
{
    return number == 0 ? &zero : NULL;
}

static void *exception(void)
{
    return failed ? &failed : NULL;
}

static const struct method *method(const char *name)
{
    static const struct pymethod_python python = {number_of, object_of, exception};
    const struct method *found;
    for (uint32_t i = 0; (found = tidemark_py_methods(&python, i)) != NULL; i++)
        if (strcmp(found->name, name) == 0)
            break;
    return found;
}

/* What it returned. */
static void *call(const char *name, const uint64_t *numbers, intptr_t count)
{
    struct object objects[8];
    void *args[8];
    const struct method *found = method(name);
    REQUIRE(found && count <= 8);
    CHECK_INT(found->flags, 0x80); /* METH_FASTCALL */
    for (intptr_t i = 0; i < count; i++) {
        objects[i] = (struct object){true, numbers[i]};
        args[i] = &objects[i];
    }
    failed = false;
    return found->function(NULL, args, count);
}

TEST(marks_have_their_arguments)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct event out[8];
    CHECK(call("enter", (uint64_t[]){MARK_FORWARD, 1ull << 40, 3, 4}, 4) == &zero);
    CHECK(call("exit", (uint64_t[]){MARK_FORWARD, 1ull << 40, MARK_F_ONE_ELEMENT, 1}, 4) == &zero);
    REQUIRE(drain(&own, out, 8) == 2);
    CHECK_INT(out[0].kind, EVENT_ENTER);
    CHECK_INT(out[0].size, MARK_FORWARD);
    CHECK_INT(out[0].a, 1ull << 40);
    CHECK_INT(out[0].b, 3);
    CHECK_INT(out[0].name, 4);
    CHECK_INT(out[1].kind, EVENT_EXIT);
    CHECK_INT(out[1].flags, EVENT_F_EXCEPTION);
    CHECK_INT(out[1].b, MARK_F_ONE_ELEMENT);
}

TEST(lists_and_histories_have_theirs)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct place now[2] = {{0x1000, 64, 1, CATEGORY_INPUT, 7}, {0x2000, 32, 1, CATEGORY_INPUT, 8}};
    struct place sent[2] = {{0x1000, 64, 1, CATEGORY_INPUT, 7}, {0}};
    struct event out[8];
    call("places", (uint64_t[]){5, (uintptr_t)now, (uintptr_t)sent, 2}, 4);
    call("hold", (uint64_t[]){5}, 1);
    call("history", (uint64_t[]){HISTORY_ALLOC, 9, 0x3000, 128, 77}, 5);
    REQUIRE(drain(&own, out, 8) == 3);
    CHECK_INT(out[0].kind, EVENT_TAG);
    CHECK_INT(out[0].addr, 0x2000);
    CHECK_INT(out[0].b, 5ull << 32 | 2);
    CHECK_INT(out[1].kind, EVENT_TAGS_HOLD);
    CHECK_INT(out[1].a, 5);
    CHECK_INT(out[2].kind, EVENT_HISTORY);
    CHECK_INT(out[2].heap, 9);
    CHECK_INT(out[2].size, 128);
    CHECK_INT(out[2].a, 77);
    CHECK_INT(out[2].b, HISTORY_ALLOC);
}

TEST(what_is_no_number_is_refused)
{
    struct own_recorder own = begin_recording(6, 1 << 16);
    struct object number = {true, UINT64_MAX}, other = {false, 0};
    void *args[1] = {&other};
    struct event out[8];
    CHECK(method("hold")->function(NULL, args, 1) == NULL);
    CHECK(failed);
    CHECK_INT(drain(&own, out, 8), 0);
    args[0] = &number; /* one that looks like a failure */
    CHECK(method("hold")->function(NULL, args, 1) == &zero);
    CHECK_INT(drain(&own, out, 8), 1);
}

TEST_MAIN(TEST_CASE(marks_have_their_arguments), TEST_CASE(lists_and_histories_have_theirs),
          TEST_CASE(what_is_no_number_is_refused))
