/* phase_event.c - what phases have to know of each event, whatever it is of. */
#include "ledger.h"
#include "phase.h"
#include "timeline.h"

bool phase_is_after_pause(const struct phases *phases, uint64_t time_ns)
{
    int64_t ns = ledger_ns(phases->ledger, time_ns);
    int64_t last = phases->account->last_ns;
    return ns > last && ns - last > TIMELINE_AT_ONCE_NS;
}

bool phase_begins_something(const struct event *event)
{
    return event->kind != EVENT_PHASE_BEGIN || range_may_end_gap(event);
}

void phase_refused(struct phases *phases)
{
    label_refused(&phases->timeline.labels);
}

void phase_lost(struct phases *phases, const uint64_t *by_kind)
{
    if (by_kind[EVENT_PHASE_END])
        phases->lost_ends_seq = phases->ledger->seq;
    if (by_kind[EVENT_ENTER] || by_kind[EVENT_EXIT])
        timeline_drop(phases, 0, phases->account->last_ns);
}

size_t phase_threads(const struct phases *phases, uint32_t *threads, size_t max)
{
    size_t count = phases->stack_count < max ? phases->stack_count : max;
    for (size_t i = 0; i < count; i++)
        threads[i] = phases->stacks[i].thread;
    if (phases->ranges.steps.owner && count < max)
        threads[count++] = phases->ranges.steps.owner;
    return timeline_threads(&phases->timeline, threads, count, max);
}
