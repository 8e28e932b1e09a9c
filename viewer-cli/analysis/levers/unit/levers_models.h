/*
 * levers_models.h - the models of a program, by the paths of their modules.
 *
 * Paths of the first model begin with its own parts ('net.0'), and its outermost module has none.
 * Those of another do so, too, where none of its modules is called like one before; else they begin
 * with its class and a number ('Teacher#2.net.0'), and only then the path says which model it is.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_MODELS_H
#define TIDEMARK_ANALYSIS_LEVERS_MODELS_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "module_index.h"

struct levers_part { /* of a model: whole parts of a path; no bytes: of one without a number */
    const char *path;
    size_t bytes;
};

struct levers_part levers_model_of(const char *path);
bool levers_same_part(struct levers_part one, struct levers_part other);
bool levers_part_has(struct levers_part part, const char *path);
/* Both are of one model: what they share. */
struct levers_part levers_part_around(struct levers_part part, const char *path);
/* As people read it; it has bytes. 0 or an error. */
int levers_put_part(const struct module_index *modules, struct levers_part part, struct buf *out);

#endif
