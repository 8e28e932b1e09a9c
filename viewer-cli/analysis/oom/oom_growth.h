/*
 * oom_growth.h - what the refused call asked for in the steps before, and the inputs of these
 * steps: a batch or a sequence that grew.
 *
 * The call is compared with itself: the fifth block of a call site in its step with the fifth in
 * each step before, for layers of one call site differ in size.
 *
 * Invariants (oom_growth_is_valid): `since` and what was asked are known together; the request is
 * for more than what was asked in the step before.
 */
#ifndef TIDEMARK_ANALYSIS_OOM_GROWTH_H
#define TIDEMARK_ANALYSIS_OOM_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"

struct oom_growth {
    bool found;     /* false: it asked for as much before, or that is not known */
    int64_t since;  /* each step asked for more than the one before, from this one on at least */
    int64_t before; /* asked for in the step before */
    int64_t input, input_before; /* of the step and of the one before; 0: they did not grow alike */
};

/* Of a request for so many bytes at the event `seq`, in a step. 0 or an error. */
int oom_growth_read(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t step,
                    int64_t site, int64_t asked, struct oom_growth *out);
bool oom_growth_is_valid(const struct oom_growth *growth, int64_t asked);

#endif
