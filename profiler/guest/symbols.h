/*
 * symbols.h - functions of this process by name, the interpreter's first of all; without
 * dlsym, which takes the loader's lock (a thread may hold it while it waits for the one that asks)
 * and allocates when it fails. Finds libraries that were loaded with local scope, too.
 */
#ifndef TIDEMARK_PROFILER_SYMBOLS_H
#define TIDEMARK_PROFILER_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>

struct symbol {
    const char *name;
    void *address; /* NULL at first; of the first loaded object that defines it, in load order */
    size_t bytes;  /* of it, as its object says */
};

void symbols_find(struct symbol *symbols, size_t count);
/* The same of the objects behind the one that this code is in, as RTLD_NEXT has it: for what it
 * defines itself, in the place of others. Another copy of it may stand before it. */
void symbols_find_behind(struct symbol *symbols, size_t count);
/* The same of the one object that has the address in it. */
void symbols_find_around(const void *address, struct symbol *symbols, size_t count);

#endif
