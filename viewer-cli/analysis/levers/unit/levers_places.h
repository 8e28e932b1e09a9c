/*
 * levers_places.h - where the modules of a program stand: model.layers.3, folded
 * model.layers[0-23].
 *
 * A block knows the innermost module that ran; the one that a class of modules is looked for by is
 * the innermost around it of that class.
 *
 * Invariants: paths and folded paths are as many as `count`; ids lead to places below it.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_PLACES_H
#define TIDEMARK_ANALYSIS_LEVERS_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "map.h"
#include "module_fold.h"

struct levers_place {
    char *path, *class_name;
    size_t bytes;     /* of the path */
    const char *last; /* part of the class's name */
};

struct levers_places { /* all zero is empty: no module was recorded */
    struct levers_place *places;
    struct module_name *names; /* the same texts */
    char **folded;
    size_t count, cap;
    struct map ids; /* of modules, to their places */
};

/* 0 or an error; levers_places_clear in both cases. */
int levers_places_read(struct db *db, struct levers_places *out);
void levers_places_clear(struct levers_places *places);
/* Of two modules that are known: the first is the second, or inside of it. */
bool levers_place_is_inside(const struct levers_places *places, int64_t id, int64_t outer);
bool levers_place_is_outermost(const struct levers_places *places, int64_t id);
/* The place around module `id` that is of that class; SIZE_MAX. */
size_t levers_place_around(const struct levers_places *places, int64_t id, const char *class_name);
/* The last part of a nested class's name. */
const char *levers_place_last_name(const char *name);

#endif
