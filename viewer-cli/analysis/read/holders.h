/*
 * holders.h - the few that hold most of the memory at an instant: modules by their folded paths
 * (modules.h), and call sites for what is of no module.
 *
 * What cuBLAS keeps is a holder of its own, whichever module was the first to multiply. A module
 * stands for all inside of it, until it holds more than a third of everything: then those
 * right inside of it stand in its place.
 *
 * Invariants (holders_are_valid): largest first; the bytes of those and `rest_bytes` are `bytes`;
 * no two of one name.
 */
#ifndef TIDEMARK_ANALYSIS_HOLDERS_H
#define TIDEMARK_ANALYSIS_HOLDERS_H

#include "modules.h"

struct holder {
    char *name;   /* NULL: no call stack */
    bool module;  /* else a call site */
    bool itself;  /* a module without those inside of it */
    int64_t site; /* of a call site; GROUP_NONE */
    int64_t bytes;
    int64_t held[PURPOSES];
};

struct holders {
    struct holder *holders;
    size_t count, cap;
    int64_t bytes; /* of all that lived */
    int64_t rest_bytes;
    size_t rest;             /* so many more */
    struct holder temporary; /* what has half of the workspace or more, as few modules as do, or one
                                call site; without a name: nothing has */
};

/* After the event `seq`, the largest `most`. 0 or an error; holders_clear in both cases. */
int holders_read(struct db *db, int64_t process, int64_t device, int64_t seq, size_t most,
                 struct holders *out);
void holders_clear(struct holders *holders);
bool holders_are_valid(const struct holders *holders);

#endif
