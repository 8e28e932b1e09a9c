/*
 * Whose code stands at an address: the program's, a library's, what is passed over; and the walk up
 * the stack of this very program.
 */
#include "cupti_caller.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../profiler/guest_support.h"

static uintptr_t address_in(const char *path, const char *name)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *address = library ? dlsym(library, name) : NULL;
    REQUIRE(address != NULL);
    return (uintptr_t)address;
}

static uintptr_t here(void)
{
    return (uintptr_t)__builtin_return_address(0);
}

static const char *name_at(uintptr_t address)
{
    const char *name = caller_of(address);
    return name ? name : "none";
}

TEST(whose_code_it_is)
{
    static const char somewhere[] = "no code";
    caller_start();
    CHECK_STR(name_at(here()), "test_cupti_caller");
    CHECK_STR(name_at(address_in(FAKE_ASKER, "fake_ask")), "libasker.so");
    CHECK_STR(name_at(address_in(FAKE_DRIVER, "cuInit")), "none"); /* libcuda.so.1 */
    CHECK_STR(name_at(address_in(FAKE_CUPTI, "cuptiGetVersion")), "none");
    CHECK_STR(name_at(address_in("libc.so.6", "qsort")), "none");
    void *made = malloc(100); /* code that is made at run time stands in no object */
    CHECK_STR(name_at((uintptr_t)made), "none");
    free(made);
    CHECK_STR(name_at((uintptr_t)somewhere), "test_cupti_caller");
    for (int i = 0; i < 1000; i++) /* what is known is not looked for again */
        if (strcmp(name_at(here()), "test_cupti_caller") != 0)
            CHECK(false);
}

TEST(an_object_that_was_unloaded_is_forgotten)
{
    caller_start();
    void *library = dlopen(FAKE_ASKER, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
    uintptr_t address = (uintptr_t)dlsym(library, "fake_ask");
    CHECK_STR(name_at(address), "libasker.so");
    dlclose(library);
    CHECK_STR(name_at(address_in("libm.so.6", "cos")), "libm.so.6");
    CHECK_STR(name_at(address), "none");
}

TEST(the_walk_up_the_stack)
{
    struct own_recorder own = begin_recording(10, 1 << 16);
    CHECK_INT(caller_library(), 0); /* the unwinder was not looked for */
    caller_start();
    CHECK_STR(string_of(own.ring, caller_library()), "test_cupti_caller");
}

TEST_MAIN(TEST_CASE(whose_code_it_is), TEST_CASE(an_object_that_was_unloaded_is_forgotten),
          TEST_CASE(the_walk_up_the_stack))
