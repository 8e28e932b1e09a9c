/* range.c - see range.h. */
#include "range.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ledger.h"
#include "phase.h"
#include "mem.h"
#include "range_name.h"

/* ---- names ---- */

uint32_t range_domain_of(struct phases *phases, const struct event *event)
{
    if (!(event->flags & EVENT_F_DOMAIN) || !event->addr || event->addr > UINT32_MAX)
        return 0;
    return names_lookup(phases->defs, (uint32_t)event->addr, ARENA_STRING);
}

/* What a name is without its number. */
static uint32_t bare_name(struct phases *phases, uint32_t stem)
{
    const char *text = names_text(phases->names, stem);
    char bare[512];
    size_t bytes = range_name_bytes(text);
    if (!bytes || bytes >= sizeof bare)
        return stem;
    memcpy(bare, text, bytes);
    bare[bytes] = '\0';
    uint32_t id = names_string(phases->names, bare);
    return id ? id : stem;
}

uint32_t range_name_of(struct phases *phases, const struct event *event)
{
    uint32_t stem = names_lookup(phases->defs, event->name, ARENA_STRING);
    unsigned both = EVENT_F_DOMAIN | EVENT_F_NUMBER;
    if (!stem || (event->flags & both) != both)
        return stem;
    struct names *names = phases->names;
    char text[512];
    int count = snprintf(text, sizeof text, "%.480s%llu", names_text(names, stem),
                         (unsigned long long)event->size);
    uint32_t known = intern_find(&names->strings, text, (size_t)count + 1);
    if (known)
        return known;
    if (names->numbered >= RANGE_MAX_NUMBERED)
        return bare_name(phases, stem);
    uint32_t added = names_string(phases->names, text);
    names->numbered += added > 0;
    return added ? added : stem;
}

bool range_may_end_gap(const struct event *event)
{
    return !(event->flags & EVENT_F_DOMAIN) || (!event->addr && !(event->flags & EVENT_F_RANGE));
}

/* ---- steps ---- */

static bool in_eval(const struct phases *phases, uint32_t thread)
{
    for (const struct phase *at = phase_top_of(phases, thread, 0); at; at = at->below)
        if (range_name_label(phase_name(phases->names, at->name)) == LABEL_EVAL)
            return true;
    return false;
}

/* Numbers of steps, as they are said and as they go on, add up without an end: not beyond this. */
#define MOST_SAID (LEDGER_MOST / 4 - 1)
#define MOST_LAST (LEDGER_MOST / 2 - 1)

static bool is_step(const struct phases *phases, const struct event *event, uint32_t stem)
{
    const struct range_steps *steps = &phases->ranges.steps;
    const struct phase *top = phases->process_top;
    return stem && (event->flags & EVENT_F_NUMBER) && !steps->open &&
           (!steps->owner || steps->owner == event->thread) &&
           (!top || top->thread == event->thread) && event->size <= MOST_SAID &&
           steps->last <= MOST_LAST && range_name_is_step(names_text(phases->names, stem)) &&
           !in_eval(phases, event->thread);
}

static void begin_step(struct phases *phases, const struct event *event, uint32_t stem, int64_t ns)
{
    struct range_steps *steps = &phases->ranges.steps;
    assert(!steps->open && event->size <= MOST_SAID && steps->last <= MOST_LAST);
    steps->open = true;
    steps->owner = event->thread;
    steps->inside = 0;
    steps->phase = false;
    steps->counts = !phases->own_steps && !timeline_is_marked(&phases->timeline);
    if (!steps->counts)
        return;
    int64_t number = (int64_t)event->size + steps->offset;
    if (steps->any && number <= steps->last) {
        number = steps->last + 1;
        steps->offset = number - (int64_t)event->size;
    }
    steps->any = true;
    steps->last = number;
    phase_step_begin(phases, number, ns); /* not the program's own: it can be overruled */
    steps->phase = phases->process_top != NULL;
    if (steps->phase) {
        struct phase_beginning what = {.thread = event->thread, .nvtx = true};
        what.name = bare_name(phases, stem);
        phase_open(phases, &what, ns);
    }
}

static void end_step(struct phases *phases, int64_t ns)
{
    struct range_steps *steps = &phases->ranges.steps;
    assert(steps->open);
    if (steps->phase)
        phase_end_nvtx(phases, steps->owner, 0, ns);
    if (steps->counts && phases->step == steps->last)
        phase_step_end(phases, ns);
    steps->open = steps->counts = steps->phase = false;
}

/* What is around the marks stays as it is; its end is nothing but the phase's, if it is one. */
void range_hand_over(struct phases *phases, struct label_steps *steps)
{
    struct range_steps *own = &phases->ranges.steps;
    if (own->any)
        steps->number = own->last + !(own->open && own->counts);
    if (own->open && own->counts)
        phases->step = BATCH_NULL;
    own->counts = false;
}

/* ---- ranges that need not nest ---- */

static bool put_range(struct phases *phases, const struct range *range, const struct phase_end *end)
{
    struct phase row = {
        .id = range->id,
        .parent = BATCH_NULL,
        .scope = PHASE_RANGE,
        .name = range->name,
        .domain = range->domain,
        .thread = range->thread,
        .ordinal = range->ordinal,
        .step = BATCH_NULL,
        .begin_seq = range->begin_seq,
        .begin_ns = range->begin_ns,
    };
    assert(range->id > 0);
    return phase_put_row(phases, &row, end);
}

static void begin_free(struct phases *phases, const struct event *event, int64_t ns)
{
    struct ranges *ranges = &phases->ranges;
    if (ranges->count >= RANGE_MAX_OPEN) {
        note(phases->account, NOTE_TOO_MANY_PHASES, NOTE_NO_ADDRESS, "more than %u ranges",
             RANGE_MAX_OPEN);
        return;
    }
    struct range range = {
        .number = event->b,
        .begin_seq = phases->ledger->seq,
        .begin_ns = ns,
        .name = range_name_of(phases, event),
        .domain = range_domain_of(phases, event),
        .thread = event->thread,
    };
    if (map_get(&ranges->by_number, range.number) != MAP_NONE ||
        !MEM_GROW(ranges->open, ranges->cap, ranges->count + 1) ||
        !map_put(&ranges->by_number, range.number, ranges->count, NULL)) {
        note_owed(phases->account, EVENT_PHASE_BEGIN, 1);
        return;
    }
    ordinal_take(&ranges->ordinals, BATCH_NULL, range.name, &range.ordinal);
    range.id = ++phases->ledger->phase_count;
    ranges->open[ranges->count++] = range;
    if (!put_range(phases, &range, &(struct phase_end){BATCH_NULL, BATCH_NULL, NULL, false}))
        note_owed(phases->account, OWED_FACT, 1);
}

/* The last one moves into its place. Its key is taken out before it is put again, so that the map
 * cannot want to grow. */
static void end_free(struct phases *phases, uint64_t number, int64_t ns, const char *ended)
{
    struct ranges *ranges = &phases->ranges;
    uint64_t at = map_remove(&ranges->by_number, number);
    if (at == MAP_NONE) {
        note(phases->account, NOTE_PHASE_END_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "range %llu",
             (unsigned long long)number);
        return;
    }
    assert(at < ranges->count && ranges->open[at].number == number);
    struct range range = ranges->open[at];
    const struct range *last = &ranges->open[--ranges->count];
    if (at < ranges->count) {
        ranges->open[at] = *last;
        map_remove(&ranges->by_number, last->number);
        map_put(&ranges->by_number, last->number, at, NULL);
    }
    if (!put_range(phases, &range, &(struct phase_end){phases->ledger->seq, ns, ended, true}))
        note_owed(phases->account, EVENT_PHASE_END, 1);
}

/* ---- events ---- */

void range_begin(struct phases *phases, const struct event *event, int64_t ns)
{
    struct range_steps *steps = &phases->ranges.steps;
    if (event->flags & EVENT_F_RANGE) {
        begin_free(phases, event, ns);
        return;
    }
    struct phase_beginning what = {
        .thread = event->thread,
        .domain = range_domain_of(phases, event),
        .nvtx = true,
    };
    uint32_t stem = names_lookup(phases->defs, event->name, ARENA_STRING);
    if (!what.domain && is_step(phases, event, stem)) {
        begin_step(phases, event, stem, ns);
        return;
    }
    if (!what.domain && steps->open && steps->owner == event->thread)
        steps->inside++;
    what.name = range_name_of(phases, event);
    phase_open(phases, &what, ns);
}

void range_end(struct phases *phases, const struct event *event, int64_t ns)
{
    struct range_steps *steps = &phases->ranges.steps;
    if (event->flags & EVENT_F_RANGE) {
        end_free(phases, event->b, ns, "end");
        return;
    }
    uint32_t domain = range_domain_of(phases, event);
    if (!domain && steps->open && steps->owner == event->thread) {
        if (!steps->inside) {
            end_step(phases, ns);
            return;
        }
        steps->inside--;
    }
    phase_end_nvtx(phases, event->thread, domain, ns);
}

void range_end_thread(struct phases *phases, uint32_t thread, int64_t ns)
{
    struct range_steps *steps = &phases->ranges.steps;
    if (steps->owner != thread)
        return;
    steps->phase = false; /* it has ended with all of the thread's */
    if (steps->open)
        end_step(phases, ns);
    steps->owner = 0;
}

void range_end_all(struct phases *phases, int64_t ns)
{
    struct ranges *ranges = &phases->ranges;
    while (ranges->count)
        end_free(phases, ranges->open[ranges->count - 1].number, ns, "process end");
}

void range_forget(struct phases *phases)
{
    struct ranges *ranges = &phases->ranges;
    mem_free(ranges->open);
    map_clear(&ranges->by_number);
    ordinal_clear(&ranges->ordinals);
    *ranges = (struct ranges){0};
}

bool range_is_valid(const struct phases *phases)
{
    const struct ranges *ranges = &phases->ranges;
    if (ranges->by_number.count != ranges->count || !map_is_valid(&ranges->by_number))
        return false;
    for (size_t i = 0; i < ranges->count; i++)
        if (map_get(&ranges->by_number, ranges->open[i].number) != i)
            return false;
    return !ranges->steps.counts || ranges->steps.open;
}
