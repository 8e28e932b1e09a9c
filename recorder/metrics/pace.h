/*
 * pace.h - steps a minute, by what was counted over the last minute: a slot for each five seconds.
 *
 * Invariants: the slots [0, count) are in order of time, `ns` grows by PACE_SLOT_NS at least and
 * `steps` never falls.
 */
#ifndef TIDEMARK_RECORDER_PACE_H
#define TIDEMARK_RECORDER_PACE_H

#include <stddef.h>
#include <stdint.h>

#define PACE_SLOT_NS (UINT64_C(5) * 1000000000)
#define PACE_SLOTS 13 /* of a minute, with both its ends */

struct pace { /* zeros: nothing was counted */
    struct {
        uint64_t ns;
        int64_t steps;
    } slots[PACE_SLOTS];
    size_t count;
};

/* So many have ended by now. A count that fell is another program's: it begins anew. */
void pace_count(struct pace *pace, uint64_t now_ns, int64_t steps);
/* In thousandths, as of that count; METER_UNKNOWN before the first slot is over. */
int64_t pace_per_minute(const struct pace *pace, uint64_t now_ns, int64_t steps);

#endif
