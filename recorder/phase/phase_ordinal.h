/*
 * phase_ordinal.h - the how-manieth of its name a phase is in its step. Only the step that is being
 * counted is kept, and the phases outside of any.
 */
#ifndef TIDEMARK_RECORDER_PHASE_ORDINAL_H
#define TIDEMARK_RECORDER_PHASE_ORDINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "map.h"

struct phase_ordinals {
    int64_t step;       /* which `in_step` counts, BATCH_NULL = none yet */
    struct map in_step; /* name -> phases of that name so far */
    struct map no_step;
};

/* Starts with none. */
void ordinal_clear(struct phase_ordinals *ordinals);
/* Counts one more; false without memory, *ordinal is set all the same. */
bool ordinal_take(struct phase_ordinals *ordinals, int64_t step, uint32_t name, int64_t *ordinal);
/* Likewise, but on top of what `base` has counted, which stays as it is: `ordinals` began empty. */
bool ordinal_guess(struct phase_ordinals *ordinals, const struct phase_ordinals *base, int64_t step,
                   uint32_t name, int64_t *ordinal);

#endif
