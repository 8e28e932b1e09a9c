/*
 * pyframes_find.h - the interpreter in this process: its functions by name, without dlsym, which
 * takes the loader's lock (a thread may hold it while it waits for the one that asks) and allocates
 * when it fails. Finds libraries that were loaded with local scope, too.
 */
#ifndef TIDEMARK_PROFILER_PYFRAMES_FIND_H
#define TIDEMARK_PROFILER_PYFRAMES_FIND_H

#include <stdbool.h>
#include <stddef.h>

struct pyframes_symbol {
    const char *name;
    void *address; /* NULL at first; of the first loaded object that defines it, in load order */
};

void pyframes_find(struct pyframes_symbol *symbols, size_t count);

#endif
