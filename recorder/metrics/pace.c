#include "pace.h"

#include <string.h>

#include "meters.h"

#define MINUTE_MS 60000.0

void pace_count(struct pace *pace, uint64_t now_ns, int64_t steps)
{
    if (pace->count && steps < pace->slots[pace->count - 1].steps)
        pace->count = 0;
    if (pace->count && now_ns - pace->slots[pace->count - 1].ns < PACE_SLOT_NS)
        return;
    if (pace->count == PACE_SLOTS)
        memmove(&pace->slots[0], &pace->slots[1], --pace->count * sizeof pace->slots[0]);
    pace->slots[pace->count].ns = now_ns;
    pace->slots[pace->count++].steps = steps;
}

int64_t pace_per_minute(const struct pace *pace, uint64_t now_ns, int64_t steps)
{
    if (!pace->count || now_ns - pace->slots[0].ns < PACE_SLOT_NS)
        return METER_UNKNOWN;
    double ms = (double)(now_ns - pace->slots[0].ns) / 1e6;
    return (int64_t)((double)(steps - pace->slots[0].steps) * 1000 * MINUTE_MS / ms + 0.5);
}
