/*
 * levers_caller.h - the line of the program that calls a module: the last frame of the program's
 * own that the call stacks of all its blocks begin with.
 *
 * Invariants: the first `count` of `frames` are in all stacks so far, from the outermost on; the
 * rest up to `depth` are the first one's.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_CALLER_H
#define TIDEMARK_ANALYSIS_LEVERS_CALLER_H

#include "frames.h"
#include "levers_names.h"
#include "levers_units.h"
#include "map.h"

enum { LEVERS_CALLER_DEPTH = 64 };

struct levers_caller { /* all zero: no stack so far */
    struct frames read;
    struct map sites; /* that were seen */
    struct frame frames[LEVERS_CALLER_DEPTH];
    size_t count, depth, seen;
    size_t line,
        called; /* places in `frames` of the line and of what it calls; SIZE_MAX: not known */
};

/* 0 or an error. */
int levers_caller_add(struct db *db, struct levers_caller *caller, int64_t site);
/* Once all are known: the class of the module that is called; NULL: the outermost that has a
 * `forward`, of which levers_caller_class tells the name, with no bytes if there is none. */
void levers_caller_find(struct levers_caller *caller, const char *class_name);
struct levers_last levers_caller_class(const struct levers_caller *caller);
/* That line calls the same function there: a block of the same model. Not known: it may be. */
int levers_caller_has(struct db *db, struct levers_caller *caller, int64_t site, bool *yes);
/* "train.py:9"; NULL with 0: not known. */
int levers_caller_text(const struct levers_caller *caller, char **out);
void levers_caller_clear(struct levers_caller *caller);

#endif
