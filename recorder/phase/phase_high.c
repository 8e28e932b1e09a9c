#include "phase_high.h"

#include <assert.h>

void phase_high_take(struct phase_highs *highs, const struct phase_high *one)
{
    assert(highs->count <= PHASE_HIGHS);
    for (size_t i = 0; i < highs->count; i++) {
        struct phase_high *own = &highs->list[i];
        if (own->name != one->name || own->device != one->device)
            continue;
        own->peak = one->peak > own->peak ? one->peak : own->peak;
        return;
    }
    if (highs->count == PHASE_HIGHS)
        highs->passed_over++;
    else
        highs->list[highs->count++] = *one;
}
