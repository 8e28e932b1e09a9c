/* Memory of the driver, and ranges of NVTX, of a log: as the sources of a recording tell them. */
#include <stdlib.h>
#include <string.h>

#include "block_log_telling.h"
#include "error.h"
#include "event.h"
#include "mem.h"

#define NUMBER_MOST 18 /* digits */

/* ---- memory ---- */

static struct event event_of(const struct telling *telling, const struct block_log_entry *entry,
                             enum event_kind kind)
{
    return (struct event){.kind = (uint64_t)kind & 0xff,
                          .time_ns = telling->now_ns,
                          .thread = entry->thread & 0xffffff};
}

static int tell_memory(struct telling *telling, const struct block_log_entry *entry)
{
    bool comes = entry->kind == LOG_DRIVER_ALLOC;
    struct event event = event_of(telling, entry, comes ? EVENT_DRIVER_ALLOC : EVENT_DRIVER_FREE);
    event.addr = entry->addr;
    event.size = comes ? entry->size : 0;
    event.a = entry->allocated & 0xff;
    event.b = entry->reserved;
    event.name = telling_string(telling, entry->name);
    event.heap = telling_place(telling, entry->place) & EVENT_MAX_HEAP;
    if (comes)
        event.site = telling_stack(telling, (uint32_t)(entry->allocated >> 32));
    telling->feed->result->instead.count += comes;
    telling->feed->result->events++;
    return telling_give(telling, &event);
}

static uint32_t once(struct telling *telling, uint32_t *number, const char *text)
{
    if (!*number)
        *number = telling_text(telling, text, strlen(text));
    return *number;
}

/* A sample is of all the pools of a device. */
static int tell_pool(struct telling *telling, const struct block_log_entry *entry)
{
    uint64_t device = block_log_device(telling->feed->log, entry->place) + 1, before = 0;
    uint64_t key = entry->addr ^ device * UINT64_C(0x9e3779b97f4a7c15);
    uint64_t sum = map_get(&telling->pool_sums, device);
    if (!map_put(&telling->pools, key, 0, &before))
        return ERR_NOMEM;
    before = before == MAP_NONE ? 0 : before;
    sum = (sum == MAP_NONE ? 0 : sum) - before + entry->size;
    if (!map_put(&telling->pools, key, entry->size, NULL) ||
        !map_put(&telling->pool_sums, device, sum, NULL))
        return ERR_NOMEM;
    if (before == entry->size)
        return BASE_OK;
    struct event event = event_of(telling, entry, EVENT_SAMPLE);
    event.a = sum;
    event.name = once(telling, &telling->pool_text, "pool reserved");
    event.heap = telling_place(telling, entry->place) & EVENT_MAX_HEAP;
    return telling_give(telling, &event);
}

static int tell_total(struct telling *telling, const struct block_log_entry *entry)
{
    struct event event = event_of(telling, entry, EVENT_SAMPLE);
    event.a = entry->size;
    event.name = once(telling, &telling->total_text, "device total");
    event.heap = telling_place(telling, entry->place) & EVENT_MAX_HEAP;
    return telling_give(telling, &event);
}

int telling_driver(struct telling *telling, const struct block_log_entry *entry)
{
    if (entry->kind == LOG_POOL)
        return tell_pool(telling, entry);
    return entry->kind == LOG_TOTAL ? tell_total(telling, entry) : tell_memory(telling, entry);
}

/* ---- NVTX ---- */

/* "iteration 12": the bytes before its number; 0: it has none, or nothing else. */
static size_t stem_of(const char *text, uint64_t *number)
{
    size_t count = strlen(text), at = count;
    while (at > 0 && count - at <= NUMBER_MOST && text[at - 1] >= '0' && text[at - 1] <= '9')
        at--;
    if (at == count || count - at > NUMBER_MOST || (text[at] == '0' && count - at > 1))
        return 0;
    *number = strtoull(text + at, NULL, 10);
    return at;
}

/* Names that count have their stem once, with the number beside it: those may be steps. */
static void fill_name(struct telling *telling, uint32_t name, struct event *event)
{
    const char *text = intern_at(&telling->feed->log->names, name);
    uint64_t number = 0;
    size_t bytes = stem_of(text, &number);
    uint32_t stem = 0;
    if (bytes)
        stem = budget_intern(&telling->feed->log->budget, &telling->stems, text, bytes);
    if (!stem || !MEM_GROW(telling->stem_numbers, telling->stem_cap, stem)) {
        telling->no_memory = bytes && (stem || !telling->feed->log->budget.refused);
        event->name = telling_string(telling, name);
        return;
    }
    if (stem > telling->stems_defined) {
        telling->stem_numbers[stem - 1] = telling_text(telling, text, bytes);
        telling->stems_defined = stem;
    }
    event->name = telling->stem_numbers[stem - 1];
    event->flags |= EVENT_F_NUMBER;
    event->size = number;
}

int telling_nvtx(struct telling *telling, const struct block_log_entry *entry)
{
    enum event_kind kind = entry->kind == LOG_MARK        ? EVENT_MARK
                           : entry->kind == LOG_RANGE_END ? EVENT_PHASE_END
                                                          : EVENT_PHASE_BEGIN;
    struct event event = event_of(telling, entry, kind);
    event.flags = EVENT_F_DOMAIN;
    event.addr = telling_string(telling, (uint32_t)entry->size);
    if (entry->loose) {
        event.flags |= EVENT_F_RANGE;
        event.b = entry->reserved;
    }
    if (kind != EVENT_PHASE_END)
        fill_name(telling, entry->name, &event);
    telling->feed->result->annotations += kind != EVENT_PHASE_END;
    return telling_give(telling, &event);
}

void telling_driver_clear(struct telling *telling)
{
    map_clear(&telling->pools);
    map_clear(&telling->pool_sums);
    intern_clear(&telling->stems);
    mem_free(telling->stem_numbers);
}
