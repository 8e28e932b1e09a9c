/*
 * pyframes_find.h - functions of this process by name, the interpreter's first of all; without
 * dlsym, which takes the loader's lock (a thread may hold it while it waits for the one that asks)
 * and allocates when it fails. Finds libraries that were loaded with local scope, too.
 */
#ifndef TIDEMARK_PROFILER_PYFRAMES_FIND_H
#define TIDEMARK_PROFILER_PYFRAMES_FIND_H

#include <stdbool.h>
#include <stddef.h>

struct pyframes_symbol {
    const char *name;
    void *address; /* NULL at first; of the first loaded object that defines it, in load order */
    size_t bytes;  /* of it, as its object says */
};

void pyframes_find(struct pyframes_symbol *symbols, size_t count);

#endif
