/*
 * levers_units.h - the modules that a forward is made of, and their calls.
 *
 * A unit is a class of modules; a call of it is a row of births that all come from inside of its
 * `forward`. Both are found by the frames of call stacks, which name functions and no instances: a
 * call ends where a block comes from elsewhere or by another way, and a row of births that repeats
 * is as many calls. Where modules were recorded, a call ends with its instance, too, and what
 * repeats has to come from the same modules. Calls that are computed again in backward already are
 * none of `calls`: torch.utils.checkpoint is among their frames, or backward calls a module of
 * theirs once more.
 *
 * Invariants (levers_units_is_valid): calls of a unit by `first`, disjoint, each inside of one
 * forward; no unit keeps exactly what one inside of it keeps.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_UNITS_H
#define TIDEMARK_ANALYSIS_LEVERS_UNITS_H

#include "frames.h"
#include "levers_places.h"
#include "levers_step.h"
#include "map.h"

struct levers_call {
    size_t first, last;                 /* places of blocks of the step, both belong to it */
    const struct levers_phase *forward; /* that they were born in */
    size_t instance;                    /* its place; SIZE_MAX: not known */
};

struct levers_unit {
    int64_t function, file; /* string.id */
    int depth;              /* of its frame, of those of modules; 0 = outermost */
    bool of_library;        /* of transformers */
    bool by_library;        /* and what its gradient_checkpointing_enable() checkpoints */
    bool plain;             /* of torch.nn itself */
    bool sequential;        /* torch.nn.Sequential */
    char *name;             /* of the class */
    char *instances;        /* where they stand, folded; NULL: not known */
    bool scattered;         /* that is more than one row of them */
    char *called;           /* the lines that call it: "model.py:180 and 184"; NULL: not known */
    struct levers_call *calls;
    size_t count, cap;
    size_t again;      /* more calls, that are computed again in backward, or parts of which are */
    int64_t bytes;     /* of activations in `calls` */
    struct map inside; /* modules, to the places of the unit's instances that they are in */
};

enum { LEVERS_CALLERS = 3 };

/* The first few lines of the program that call a unit, by their order in the stacks; frames are
 * those of one `struct frames`. */
struct levers_callers { /* all zero is empty */
    struct frame frames[LEVERS_CALLERS];
    size_t count;
    bool more;
};

struct levers_units { /* all zero is empty */
    struct levers_unit *units;
    size_t count, cap;
    bool again; /* something of them is computed again in backward already */
};

/* `idle`: places of blocks that no backward goes for, which are of no call. 0 or an error;
 * levers_units_clear in both cases. */
int levers_units_read(struct db *db, const struct levers_step *step, const struct map *idle,
                      struct levers_units *out);
void levers_units_clear(struct levers_units *units);
/* Of a unit whose calls are known: where their modules stand. 0 or an error. */
int levers_unit_name(const struct levers_places *places, struct levers_unit *unit);
/* Modules call each other through torch's own code, its containers call what is in them, and
 * trainers call the model: a line of the program's own is what people look for. */
bool levers_is_programs(const struct frame *frame);
void levers_callers_add(struct levers_callers *callers, const struct frame *caller);
/* NULL with 0: there are none. */
int levers_callers_text(const struct levers_callers *callers, char **out);
/* "head (Linear), called in Decoder.forward (model.py:70),": of what the module itself made at a
 * call site. NULL with 0: not known, or something else made it. */
int levers_output_name(struct db *db, int64_t site, int64_t module, char **out);
bool levers_units_is_valid(const struct levers_step *step, const struct levers_units *units);

#endif
