/*
 * levers_recompute.h - what checkpointing a unit does to the lives of blocks.
 *
 * With torch.utils.checkpoint a call keeps its input. What it makes for backward goes when it
 * returns, and comes again, all at once, when backward reaches the call. Blocks that a later part
 * of the program needs are not touched: backward is through with them before it comes to the call.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_RECOMPUTE_H
#define TIDEMARK_ANALYSIS_LEVERS_RECOMPUTE_H

#include "levers_casts.h"
#include "levers_units.h"

struct levers_recomputing {
    int64_t kept; /* bytes of the random numbers' state that each call keeps on this device */
    bool least;   /* as if blocks went at once and computing again took nothing; no program comes
                     below that */
    const struct levers_casts *casts;
};

/* Adds the changes for every call of the unit. 0 or an error. */
int levers_recompute(const struct levers_step *step, const struct levers_unit *unit,
                     const struct levers_recomputing *how, struct levers_edit *edit);

/* Modules that backward calls again already: keys of the map. 0 or an error. */
int levers_recomputed(const struct levers_step *step, struct map *modules);

#endif
