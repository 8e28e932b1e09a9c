/* range.c - see range.h. */
#include "range.h"

#include <stdio.h>
#include <string.h>

#include "mem.h"
#include "range_name.h"
#include "state_types.h"

/* ---- names ---- */

uint32_t range_domain_of(struct state_process *process, const struct event *event)
{
    if (!(event->flags & EVENT_F_DOMAIN) || !event->addr || event->addr > UINT32_MAX)
        return 0;
    return names_lookup(process->defs, (uint32_t)event->addr, ARENA_STRING);
}

/* What a name is without its number. */
static uint32_t bare_name(struct state_process *process, uint32_t stem)
{
    const char *text = names_text(&process->state->names, stem);
    char bare[512];
    size_t bytes = range_name_bytes(text);
    if (!bytes || bytes >= sizeof bare)
        return stem;
    memcpy(bare, text, bytes);
    bare[bytes] = '\0';
    uint32_t id = names_string(&process->state->names, bare);
    return id ? id : stem;
}

uint32_t range_name_of(struct state_process *process, const struct event *event)
{
    uint32_t stem = names_lookup(process->defs, event->name, ARENA_STRING);
    unsigned both = EVENT_F_DOMAIN | EVENT_F_NUMBER;
    if (!stem || (event->flags & both) != both)
        return stem;
    struct names *names = &process->state->names;
    char text[512];
    int count = snprintf(text, sizeof text, "%.480s%llu", names_text(names, stem),
                         (unsigned long long)event->size);
    uint32_t known = intern_find(&names->strings, text, (size_t)count + 1);
    if (known)
        return known;
    if (names->numbered >= RANGE_MAX_NUMBERED)
        return bare_name(process, stem);
    uint32_t added = names_string(&process->state->names, text);
    names->numbered += added > 0;
    return added ? added : stem;
}

bool range_may_end_gap(const struct event *event)
{
    return !(event->flags & EVENT_F_DOMAIN) || (!event->addr && !(event->flags & EVENT_F_RANGE));
}

/* ---- steps ---- */

static bool in_eval(const struct state_process *process, uint32_t thread)
{
    for (const struct phase *at = phase_top_of(process, thread, 0); at; at = at->below)
        if (range_name_label(phase_name(process->state, at->name)) == LABEL_EVAL)
            return true;
    return false;
}

/* Numbers of steps, as they are said and as they go on, add up without an end: not beyond this. */
#define MOST_SAID (LEDGER_MOST / 4 - 1)
#define MOST_LAST (LEDGER_MOST / 2 - 1)

static bool is_step(const struct state_process *process, const struct event *event, uint32_t stem)
{
    const struct range_steps *steps = &process->phases.ranges.steps;
    const struct phase *top = process->phases.process_top;
    return stem && (event->flags & EVENT_F_NUMBER) && !steps->open &&
           (!steps->owner || steps->owner == event->thread) &&
           (!top || top->thread == event->thread) && event->size <= MOST_SAID &&
           steps->last <= MOST_LAST &&
           range_name_is_step(names_text(&process->state->names, stem)) &&
           !in_eval(process, event->thread);
}

/* As if the program said so, but that it can still be overruled. */
static void tell_step(struct state_process *process, enum event_kind kind, int64_t number,
                      int64_t ns)
{
    struct event event = {.kind = (uint8_t)kind, .a = (uint64_t)number};
    bool own = process->phases.own_steps;
    phase_step(process, &event, ns);
    process->phases.own_steps = own;
}

static void begin_step(struct state_process *process, const struct event *event, uint32_t stem,
                       int64_t ns)
{
    struct phases *phases = &process->phases;
    struct range_steps *steps = &phases->ranges.steps;
    steps->open = true;
    steps->owner = event->thread;
    steps->inside = 0;
    steps->phase = false;
    steps->counts = !phases->own_steps && !phases->timeline;
    if (!steps->counts)
        return;
    int64_t number = (int64_t)event->size + steps->offset;
    if (steps->any && number <= steps->last) {
        number = steps->last + 1;
        steps->offset = number - (int64_t)event->size;
    }
    steps->any = true;
    steps->last = number;
    tell_step(process, EVENT_STEP_BEGIN, number, ns);
    steps->phase = phases->process_top != NULL;
    if (steps->phase) {
        struct phase_beginning what = {.thread = event->thread, .nvtx = true};
        what.name = bare_name(process, stem);
        phase_open(process, &what, ns);
    }
}

static void end_step(struct state_process *process, int64_t ns)
{
    struct range_steps *steps = &process->phases.ranges.steps;
    if (steps->phase)
        phase_end_nvtx(process, steps->owner, 0, ns);
    if (steps->counts && process->phases.step == steps->last)
        tell_step(process, EVENT_STEP_END, 0, ns);
    steps->open = steps->counts = steps->phase = false;
}

/* What is around the marks stays as it is; its end is nothing but the phase's, if it is one. */
void range_hand_over(struct state_process *process, struct label_steps *steps)
{
    struct range_steps *own = &process->phases.ranges.steps;
    if (own->any)
        steps->number = own->last + !(own->open && own->counts);
    if (own->open && own->counts)
        process->phases.step = BATCH_NULL;
    own->counts = false;
}

/* ---- ranges that need not nest ---- */

static bool put_range(struct state_process *process, const struct range *range, int64_t end_seq,
                      int64_t end_ns, const char *ended)
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
    return phase_put_row(process, &row, end_seq, end_ns, ended);
}

static void begin_free(struct state_process *process, const struct event *event, int64_t ns)
{
    struct ranges *ranges = &process->phases.ranges;
    if (ranges->count >= RANGE_MAX_OPEN) {
        note(&process->account, NOTE_TOO_MANY_PHASES, NOTE_NO_ADDRESS, "more than %u ranges",
             RANGE_MAX_OPEN);
        return;
    }
    struct range range = {
        .number = event->b,
        .begin_seq = process->state->ledger.seq,
        .begin_ns = ns,
        .name = range_name_of(process, event),
        .domain = range_domain_of(process, event),
        .thread = event->thread,
    };
    if (map_get(&ranges->by_number, range.number) != MAP_NONE ||
        !MEM_GROW(ranges->open, ranges->cap, ranges->count + 1) ||
        !map_put(&ranges->by_number, range.number, ranges->count, NULL)) {
        note_owed(&process->account, EVENT_PHASE_BEGIN, 1);
        return;
    }
    ordinal_take(&ranges->ordinals, BATCH_NULL, range.name, &range.ordinal);
    range.id = ++process->state->ledger.phase_count;
    ranges->open[ranges->count++] = range;
    if (!put_range(process, &range, BATCH_NULL, BATCH_NULL, NULL))
        note_owed(&process->account, OWED_FACT, 1);
}

/* The last one moves into its place. Its key is taken out before it is put again, so that the map
 * cannot want to grow. */
static void end_free(struct state_process *process, uint64_t number, int64_t ns, const char *ended)
{
    struct ranges *ranges = &process->phases.ranges;
    uint64_t at = map_remove(&ranges->by_number, number);
    if (at == MAP_NONE) {
        note(&process->account, NOTE_PHASE_END_WITHOUT_BEGIN, NOTE_NO_ADDRESS, "range %llu",
             (unsigned long long)number);
        return;
    }
    struct range range = ranges->open[at];
    const struct range *last = &ranges->open[--ranges->count];
    if (at < ranges->count) {
        ranges->open[at] = *last;
        map_remove(&ranges->by_number, last->number);
        map_put(&ranges->by_number, last->number, at, NULL);
    }
    if (!put_range(process, &range, process->state->ledger.seq, ns, ended))
        note_owed(&process->account, EVENT_PHASE_END, 1);
}

/* ---- events ---- */

void range_begin(struct state_process *process, const struct event *event, int64_t ns)
{
    struct range_steps *steps = &process->phases.ranges.steps;
    if (event->flags & EVENT_F_RANGE) {
        begin_free(process, event, ns);
        return;
    }
    struct phase_beginning what = {
        .thread = event->thread,
        .domain = range_domain_of(process, event),
        .nvtx = true,
    };
    uint32_t stem = names_lookup(process->defs, event->name, ARENA_STRING);
    if (!what.domain && is_step(process, event, stem)) {
        begin_step(process, event, stem, ns);
        return;
    }
    if (!what.domain && steps->open && steps->owner == event->thread)
        steps->inside++;
    what.name = range_name_of(process, event);
    phase_open(process, &what, ns);
}

void range_end(struct state_process *process, const struct event *event, int64_t ns)
{
    struct range_steps *steps = &process->phases.ranges.steps;
    if (event->flags & EVENT_F_RANGE) {
        end_free(process, event->b, ns, "end");
        return;
    }
    uint32_t domain = range_domain_of(process, event);
    if (!domain && steps->open && steps->owner == event->thread) {
        if (!steps->inside) {
            end_step(process, ns);
            return;
        }
        steps->inside--;
    }
    phase_end_nvtx(process, event->thread, domain, ns);
}

void range_end_thread(struct state_process *process, uint32_t thread, int64_t ns)
{
    struct range_steps *steps = &process->phases.ranges.steps;
    if (steps->owner != thread)
        return;
    steps->phase = false; /* it has ended with all of the thread's */
    if (steps->open)
        end_step(process, ns);
    steps->owner = 0;
}

void range_end_all(struct state_process *process, int64_t ns)
{
    struct ranges *ranges = &process->phases.ranges;
    while (ranges->count)
        end_free(process, ranges->open[ranges->count - 1].number, ns, "process end");
}

void range_forget(struct state_process *process)
{
    struct ranges *ranges = &process->phases.ranges;
    mem_free(ranges->open);
    map_clear(&ranges->by_number);
    ordinal_clear(&ranges->ordinals);
    *ranges = (struct ranges){0};
}

bool range_is_valid(const struct state_process *process)
{
    const struct ranges *ranges = &process->phases.ranges;
    if (ranges->by_number.count != ranges->count || !map_is_valid(&ranges->by_number))
        return false;
    for (size_t i = 0; i < ranges->count; i++)
        if (map_get(&ranges->by_number, ranges->open[i].number) != i)
            return false;
    return !ranges->steps.counts || ranges->steps.open;
}
