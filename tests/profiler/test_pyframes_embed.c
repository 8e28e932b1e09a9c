/* A program that loads an interpreter late and with local scope, runs Python, and ends it. Needs a
 * libpython; skipped where there is none. */
#include "pyframes.h"

#include <dlfcn.h>
#include <stdio.h>

#include "guest_support.h"

static struct {
    void *library;
    void (*initialize)(int);
    int (*finalize)(void);
    int (*run)(const char *);
    void *(*new_function)(void *, void *, void *);
    void *(*add_module)(const char *);
    int (*set)(void *, const char *, void *);
    void (*retain)(void *);
    void *none;
} python;

static bool load(void)
{
    char name[64];
    for (int minor = 14; minor >= 9 && !python.library; minor--) {
        snprintf(name, sizeof name, "libpython3.%d.so.1.0", minor);
        python.library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    }
    if (!python.library)
        return false;
    *(void **)&python.initialize = dlsym(python.library, "Py_InitializeEx");
    *(void **)&python.finalize = dlsym(python.library, "Py_FinalizeEx");
    *(void **)&python.run = dlsym(python.library, "PyRun_SimpleString");
    *(void **)&python.new_function = dlsym(python.library, "PyCFunction_NewEx");
    *(void **)&python.add_module = dlsym(python.library, "PyImport_AddModule");
    *(void **)&python.set = dlsym(python.library, "PyObject_SetAttrString");
    *(void **)&python.retain = dlsym(python.library, "Py_IncRef");
    python.none = dlsym(python.library, "_Py_NoneStruct");
    return python.initialize && python.finalize && python.run && python.new_function &&
           python.add_module && python.set && python.retain && python.none;
}

static uint32_t sites[4];
static int calls;

static void *called(void *self, void *arguments)
{
    (void)self;
    (void)arguments;
    sites[calls++ & 3] = pyframes_site();
    python.retain(python.none);
    return python.none;
}

/* Extensions need a libpython of global scope, ctypes too: so a function of our own. */
static bool define_call(void)
{
    static struct {
        const char *name;
        void *(*function)(void *, void *);
        int flags; /* METH_NOARGS */
        const char *doc;
    } method = {"call", called, 4, NULL};
    return python.set(python.add_module("__main__"), "call",
                      python.new_function(&method, NULL, NULL)) == 0;
}

static const char *const program = "\n\n"
                                   "def inner():\n"
                                   "    call()\n"
                                   "def outer():\n"
                                   "    inner()\n"
                                   "\n"
                                   "outer()\n"
                                   "for i in range(1000): pass\n" /* the pending call comes */
                                   "outer()\n"
                                   "class Late:\n"
                                   "    def __del__(self, call=call): call()\n"
                                   "late = Late()\n";

static void check_frame(struct own_recorder *own, uint32_t number, const char *function,
                        uint32_t line)
{
    struct arena_frame frame = {0};
    size_t bytes = 0;
    REQUIRE(definition(own->ring, number, &frame, sizeof frame, &bytes) == ARENA_FRAME);
    CHECK_STR(string_of(own->ring, frame.function), function);
    CHECK_STR(string_of(own->ring, frame.file), "<string>");
    CHECK_INT(frame.line, line);
}

TEST(an_interpreter_that_comes_late_and_goes)
{
    struct own_recorder own = begin_recording(6, 1 << 20);
    uint32_t numbers[8];
    size_t bytes = 0;
    for (int i = 0; i < 70000; i++)
        REQUIRE(pyframes_site() == 0);
    if (!load())
        SKIP("no libpython");
    CHECK_INT(pyframes_site(), 0);
    python.initialize(0);
    for (int i = 0; i < 70000; i++) /* it is found, and there are no frames */
        REQUIRE(pyframes_site() == 0);
    CHECK_STR(pyframes_why_not(), NULL);
    REQUIRE(define_call() && python.run(program) == 0);
    REQUIRE(calls == 2 && sites[0] && sites[1]);
    CHECK_STR(pyframes_why_not(), NULL);
    REQUIRE(definition(own.ring, sites[0], numbers, sizeof numbers, &bytes) == ARENA_SITE);
    REQUIRE(bytes == 3 * sizeof *numbers);
    check_frame(&own, numbers[0], "inner", 4);
    check_frame(&own, numbers[1], "outer", 6);
    check_frame(&own, numbers[2], "<module>", 8);
    CHECK(sites[1] != sites[0]);
    python.finalize();
    CHECK_INT(calls, 3); /* Late.__del__, after captures ended */
    CHECK_INT(sites[2], 0);
    CHECK_INT(pyframes_site(), 0);
    CHECK_STR(pyframes_why_not(), NULL);
}

TEST_MAIN(TEST_CASE(an_interpreter_that_comes_late_and_goes))
