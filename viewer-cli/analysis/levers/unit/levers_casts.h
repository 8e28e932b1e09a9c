/*
 * levers_casts.h - copies of weights in fewer bits that torch.autocast keeps until it is left.
 *
 * The first use of a weight makes its copy, in the module that has the weight; others find it.
 * Backward needs it, too: where a call is checkpointed, it is there until autocast is left, and is
 * made once more when the call is computed again.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_CASTS_H
#define TIDEMARK_ANALYSIS_LEVERS_CASTS_H

#include "db.h"
#include "levers_step.h"
#include "map.h"

struct levers_casts {  /* all zero: there are none */
    struct map blocks; /* their places in the step, to themselves */
};

/* None where it is not known that parameters are float32 and graphs have other dtypes, too. 0 or an
 * error; levers_casts_clear in both cases. */
int levers_casts_read(struct db *db, int64_t process, const struct levers_step *step,
                      struct levers_casts *out);
void levers_casts_clear(struct levers_casts *casts);
bool levers_is_cast(const struct levers_casts *casts, size_t block);

#endif
