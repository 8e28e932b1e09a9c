/* stand_in.h - for tests: the stand-in as a program meets it, whose functions are found by name. */
#ifndef TIDEMARK_TESTS_REHEARSAL_STAND_IN_H
#define TIDEMARK_TESTS_REHEARSAL_STAND_IN_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

static void *library; /* once it is opened */

typedef void any_function(void);

static any_function *find(const char *name)
{
    any_function *function;
    void *found = dlsym(library, name);
    if (!found)
        fprintf(stderr, "there is no %s\n", name);
    REQUIRE(found != NULL);
    memcpy(&function, &found, sizeof function);
    return function;
}

/* CALL(int, cudaMalloc, (void **, size_t), (&p, 5)) */
#define CALL(type, name, types, arguments) (((type(*) types)find(#name))arguments)

static inline void open_stand_in(const char *settings)
{
    REQUIRE(setenv("TIDEMARK_REHEARSAL", settings, 1) == 0);
    library = dlopen(getenv("TIDEMARK_STANDIN"), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != NULL);
}

static inline void *gpu_malloc(size_t bytes)
{
    void *p = NULL;
    CALL(int, cudaMalloc, (void **, size_t), (&p, bytes));
    return p;
}

#endif
