/* stand_in.h - for tests: the stand-in as a program meets it, whose functions are found by name. */
#ifndef TIDEMARK_TESTS_REHEARSAL_STAND_IN_H
#define TIDEMARK_TESTS_REHEARSAL_STAND_IN_H

#include <dlfcn.h>
#include <stdio.h>
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

#endif
