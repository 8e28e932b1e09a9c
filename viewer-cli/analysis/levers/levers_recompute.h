/*
 * levers_recompute.h - what checkpointing a unit does to the lives of blocks.
 *
 * With torch.utils.checkpoint a call keeps its input. What it makes for backward goes when it
 * returns, and comes again, all at once, when backward reaches the call. Blocks that a later part
 * of the program needs are not touched: backward is through with them before it comes to the call.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_RECOMPUTE_H
#define TIDEMARK_ANALYSIS_LEVERS_RECOMPUTE_H

#include "levers_units.h"

/* Adds the changes for every call of the unit. `kept`: bytes of the random numbers' state that each
 * call keeps on this device. `least`: as if blocks went
 * at once and computing again took nothing; no program comes below that. 0 or an error. */
int levers_recompute(const struct levers_step *step, const struct levers_unit *unit, int64_t kept,
                     bool least, struct levers_edit *edit);

#endif
