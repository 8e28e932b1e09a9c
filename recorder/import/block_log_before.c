/* What lived before a log began: blocks of which it has the end, and the sum of those that it never
 * mentions. */
#include "block_log_telling.h"
#include "error.h"
#include "mem.h"

/* What lived before the log began is told at its beginning. */
int telling_before(struct telling *telling)
{
    const struct block_log *log = telling->feed->log;
    struct import_result *result = telling->feed->result;
    int err = BASE_OK;
    for (size_t i = 0; err == BASE_OK && i < log->count; i++) {
        const struct block_log_entry *entry = &log->entries[i];
        if (!entry->lost)
            continue;
        struct event event = {.kind = EVENT_BLOCK_ALLOC,
                              .addr = entry->addr,
                              .size = entry->size,
                              .heap = telling_place(telling, entry->place) & EVENT_MAX_HEAP};
        if (telling->feed->sizes == BLOCK_LOG_REQUESTED)
            telling_requested(entry->size, &event);
        result->blocks_before++;
        err = telling_give(telling, &event);
    }
    return err;
}

/* Of a place: what its allocator's own sum was before the first event, and what of it is freed. */
struct before {
    bool seen;
    uint64_t bytes, freed;
};

static uint64_t sum_before(const struct block_log_entry *entry)
{
    uint64_t bytes = 0;
    bool odd = entry->allocated == BLOCK_LOG_UNKNOWN;
    odd = odd ||
          (entry->kind == LOG_FREE ? __builtin_add_overflow(entry->allocated, entry->size, &bytes)
                                   : __builtin_sub_overflow(entry->allocated, entry->size, &bytes));
    return odd ? 0 : bytes;
}

static void look_before(const struct block_log *log, struct before *places)
{
    for (size_t i = 0; i < log->count; i++) {
        const struct block_log_entry *entry = &log->entries[i];
        struct before *place = &places[entry->place];
        if (entry->kind != LOG_ALLOC && entry->kind != LOG_FREE)
            continue;
        if (!place->seen)
            *place = (struct before){.seen = true, .bytes = sum_before(entry)};
        if (entry->lost && __builtin_add_overflow(place->freed, entry->size, &place->freed))
            place->freed = UINT64_MAX;
    }
}

/* Its tag keeps it from being taken for a parameter, which it may be only in part. */
static int give_sum(struct telling *telling, uint32_t place, uint64_t bytes)
{
    static const char name[] = "live all the time";
    struct event event = {.kind = EVENT_BLOCK_ALLOC,
                          .addr = BLOCK_LOG_THROUGHOUT,
                          .size = bytes,
                          .heap = telling_place(telling, place) & EVENT_MAX_HEAP};
    int err = telling_give(telling, &event);
    event.kind = EVENT_TAG;
    event.a = CATEGORY_OTHER;
    event.name = telling_text(telling, name, sizeof name - 1);
    telling->feed->result->throughout += bytes;
    return err ? err : telling_give(telling, &event);
}

/* What is live all through the log is in no event of it: one block, by the allocator's own sum. */
int telling_throughout(struct telling *telling)
{
    const struct block_log *log = telling->feed->log;
    if (telling->feed->sizes == BLOCK_LOG_BOTH)
        return BASE_OK;
    struct before *places = mem_alloc(log->places.item_count + 1, sizeof *places);
    int err = places ? BASE_OK : ERR_NOMEM;
    if (places)
        look_before(log, places);
    for (uint32_t i = 1; err == BASE_OK && i <= log->places.item_count; i++)
        if (places[i].bytes > places[i].freed)
            err = give_sum(telling, i, places[i].bytes - places[i].freed);
    mem_free(places);
    return err;
}
