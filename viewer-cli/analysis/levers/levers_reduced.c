/*
 * Whether the optimizer's state is in 8 bits or so already: by the sizes of states beside those of
 * their parameters, as tags name them ("exp_avg of head.weight"), or by the library.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"
#include "search.h"

enum { SMALL_PARAMETER = 65536, SMALL_STATE = 4096 }; /* bytes: smaller ones prove nothing */

struct named {
    char *name;
    int64_t bytes;
};

/* Of the window: tagged parameters by name, the largest of each first once they are sorted. */
struct parameters {
    struct named *named;
    size_t count, cap;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* Passes the tag's name on. 0 or an error. */
static int with_name(struct db *db, const struct levers_block *block,
                     int (*take)(void *self, const char *name, int64_t bytes), void *self)
{
    const char *name;
    struct query query = query_ask(db,
                                   "SELECT t.name FROM allocation a JOIN tag t ON t.id = a.tag"
                                   " WHERE a.seq = ?1 AND t.name IS NOT NULL",
                                   Q_IN(block->seq), Q_OUT(Q_TEXT(name)));
    while (query_next(&query))
        query_fail(&query, take(self, name, block->size));
    return query_end(&query);
}

static int take_parameter(void *self, const char *name, int64_t bytes)
{
    struct parameters *parameters = self;
    struct named named = {mem_copy(name, strlen(name)), bytes};
    if (!named.name || !MEM_GROW(parameters->named, parameters->cap, parameters->count + 1)) {
        mem_free(named.name);
        return ERR_NOMEM;
    }
    parameters->named[parameters->count++] = named;
    return 0;
}

struct counts {
    const struct parameters *parameters;
    int64_t states, reduced;
};

/* The largest of that name: the list has it before the others. */
static const struct named *find(const struct parameters *parameters, const char *name)
{
    size_t at;
    SEARCH_FIRST(at, 0, parameters->count, strcmp(parameters->named[at].name, name) < 0);
    bool found = at < parameters->count && strcmp(parameters->named[at].name, name) == 0;
    return found ? &parameters->named[at] : NULL;
}

static int take_state(void *self, const char *name, int64_t bytes)
{
    struct counts *counts = self;
    const char *of = strstr(name, " of ");
    const struct named *parameter = of ? find(counts->parameters, of + 4) : NULL;
    if (parameter && parameter->bytes >= SMALL_PARAMETER) {
        counts->states++;
        counts->reduced += 2 * bytes <= parameter->bytes;
    }
    return 0;
}

static int read_tagged(struct levers_work *work, enum purpose purpose, int64_t least,
                       int (*take)(void *self, const char *name, int64_t bytes), void *self)
{
    int err = 0;
    for (size_t i = 0; i < work->seen.step.count && err >= 0; i++) {
        const struct levers_block *block = &work->seen.step.blocks[i];
        if (block->tagged && block->purpose == purpose && block->size >= least)
            err = with_name(work->seen.db, block, take, self);
    }
    return err;
}

/* Files of call stacks: torchao's tensors of 4 and 8 bits, which it used to have elsewhere; all
 * optimizers of bitsandbytes, of 32 bits, too. */
static const char libraries_sql[] =
    "SELECT coalesce(max(text LIKE '%/torchao/%optim/subclass_%.py'), 0) AS torchao,"
    "       coalesce(max(text LIKE '%/bitsandbytes/optim/%.py'), 0) AS bitsandbytes FROM string";

/* Of 32 bits each state is as large as its parameter; two of 8 bits are half of it. */
static bool are_small(const struct levers_step *step)
{
    int64_t states = levers_bytes_of(step, PURPOSE_OPTIMIZER_STATE);
    return states > 0 && states < levers_bytes_of(step, PURPOSE_PARAMETER) / 4 * 3;
}

static int is_of_library(struct levers_work *work, bool *yes)
{
    bool torchao = false, bitsandbytes = false;
    int err = query_read(work->seen.db, libraries_sql, Q_NOTHING,
                         Q_OUT(Q_INT(torchao), Q_INT(bitsandbytes)));
    *yes = torchao || (bitsandbytes && are_small(&work->seen.step));
    return err;
}

static int is_by_size(struct levers_work *work, bool *yes)
{
    struct parameters parameters = {0};
    struct counts counts = {.parameters = &parameters};
    int err = read_tagged(work, PURPOSE_PARAMETER, 0, take_parameter, &parameters);
    if (parameters.count)
        qsort(parameters.named, parameters.count, sizeof *parameters.named, by_name);
    if (err >= 0)
        err = read_tagged(work, PURPOSE_OPTIMIZER_STATE, SMALL_STATE, take_state, &counts);
    for (size_t i = 0; i < parameters.count; i++)
        mem_free(parameters.named[i].name);
    mem_free(parameters.named);
    *yes = counts.reduced > counts.states / 2;
    return err < 0 ? err : 0;
}

int levers_has_reduced_states(struct levers_work *work, bool *yes)
{
    int err = is_by_size(work, yes);
    return err < 0 || *yes ? err : is_of_library(work, yes);
}
