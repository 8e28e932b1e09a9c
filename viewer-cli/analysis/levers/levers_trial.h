/*
 * levers_trial.h - units that are checkpointed together, and how that is written.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_TRIAL_H
#define TIDEMARK_ANALYSIS_LEVERS_TRIAL_H

#include "buf.h"
#include "levers_loop.h"
#include "levers_units.h"

enum { LEVERS_UNITED = 4 };

struct levers_trial {
    const struct levers_unit *units[LEVERS_UNITED];
    size_t count;
    int64_t highest; /* with it */
    int64_t least;   /* if blocks went at once, and computing again took nothing */
};

/* It is called more than once in a forward, as a layer is. */
bool levers_is_repeated(const struct levers_unit *unit);

/* All of its calls are known to be of one instance. */
bool levers_is_single(const struct levers_unit *unit);

/* What to write, by whose the module is. `normalizes`: BatchNorm is among what is computed again.
 */
void levers_put_trial(enum levers_loop loop, const struct levers_trial *trial, bool normalizes,
                      struct buf *text);
/* Of every second one of its instances. */
void levers_put_half(const struct levers_trial *trial, bool normalizes, struct buf *text);
/* In a row of several changes: "checkpoint each Block and each Attention". */
void levers_put_brief(const struct levers_trial *trial, struct buf *text);

#endif
