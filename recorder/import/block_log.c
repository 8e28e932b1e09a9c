#include "block_log.h"

#include <string.h>

#include "error.h"
#include "mem.h"

void block_log_clear(struct block_log *log)
{
    intern_clear(&log->names);
    intern_clear(&log->places);
    intern_clear(&log->frames);
    intern_clear(&log->stacks);
    mem_free(log->entries);
    *log = (struct block_log){0};
}

static bool entry_is_valid(const struct block_log *log, const struct block_log_entry *entry)
{
    bool block = entry->kind == LOG_ALLOC || entry->kind == LOG_FREE || entry->kind == LOG_REFUSED;
    bool driver = entry->kind == LOG_DRIVER_ALLOC || entry->kind == LOG_DRIVER_FREE;
    return entry->name <= (block ? log->stacks.item_count : log->names.item_count) &&
           (!driver || entry->allocated >> 32 <= log->stacks.item_count) &&
           (!entry->nvtx || entry->size <= log->names.item_count) &&
           entry->place <= log->places.item_count && entry->kind < LOG_KIND_COUNT &&
           entry->order < log->count;
}

static bool frames_are_valid(const struct block_log *log)
{
    struct block_log_frame frame;
    for (uint32_t i = 1; i <= log->frames.item_count; i++) {
        memcpy(&frame, intern_at(&log->frames, i), sizeof frame);
        if (frame.function > log->names.item_count || frame.file > log->names.item_count)
            return false;
    }
    return intern_is_valid(&log->frames) && intern_is_valid(&log->stacks);
}

bool block_log_is_valid(const struct block_log *log)
{
    for (size_t i = 0; i < log->count; i++)
        if (!entry_is_valid(log, &log->entries[i]))
            return false;
    return log->places.item_count <= IMPORT_MAX_PLACES && intern_is_valid(&log->names) &&
           intern_is_valid(&log->places) && frames_are_valid(log);
}

void block_log_allow(struct block_log *log, uint64_t bytes_read)
{
    uint64_t most = (SIZE_MAX - IMPORT_BUDGET_BASE) / IMPORT_BUDGET_FACTOR;
    log->budget.limit =
        IMPORT_BUDGET_BASE + IMPORT_BUDGET_FACTOR * (size_t)(bytes_read < most ? bytes_read : most);
}

int block_log_add(struct block_log *log, const struct block_log_entry *entry)
{
    if ((entry->kind == LOG_ALLOC || entry->kind == LOG_FREE) && !entry->addr)
        return BASE_OK;
    if (log->count >= UINT32_MAX)
        return ERR_LIMIT;
    if (!BUDGET_GROW(&log->budget, log->entries, log->cap, log->count + 1))
        return log->budget.refused ? ERR_LIMIT : ERR_NOMEM;
    log->entries[log->count] = *entry;
    log->entries[log->count].order = (uint32_t)log->count;
    log->count++;
    return BASE_OK;
}

static int intern(struct block_log *log, struct intern *table, const void *bytes, size_t count,
                  uint32_t *id)
{
    *id = budget_intern(&log->budget, table, bytes, count);
    if (*id)
        return BASE_OK;
    return log->budget.refused ? ERR_LIMIT : ERR_NOMEM;
}

int block_log_name(struct block_log *log, const char *text, size_t bytes, uint32_t *name)
{
    char copy[BLOCK_LOG_NAME_BYTES];
    if (bytes >= sizeof copy)
        bytes = sizeof copy - 1;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return intern(log, &log->names, copy, bytes + 1, name);
}

int block_log_place(struct block_log *log, enum arena_device kind, int32_t index, uint64_t stream,
                    uint32_t *place)
{
    struct arena_heap heap;
    memset(&heap, 0, sizeof heap);
    heap.device_kind = (int32_t)kind;
    heap.device_index = index;
    heap.stream = stream;
    int err = intern(log, &log->places, &heap, sizeof heap, place);
    return err == BASE_OK && *place > IMPORT_MAX_PLACES ? ERR_LIMIT : err;
}

int block_log_frame(struct block_log *log, struct block_log_frame frame, uint32_t *number)
{
    return intern(log, &log->frames, &frame, sizeof frame, number);
}

int block_log_stack(struct block_log *log, const uint32_t *frames, size_t count, uint32_t *stack)
{
    *stack = 0;
    if (count > BLOCK_LOG_DEPTH)
        count = BLOCK_LOG_DEPTH;
    return count ? intern(log, &log->stacks, frames, count * sizeof *frames, stack) : BASE_OK;
}

uint32_t block_log_device(const struct block_log *log, uint32_t place)
{
    struct arena_heap heap = {0};
    if (place)
        memcpy(&heap, intern_at(&log->places, place), sizeof heap);
    return (uint32_t)heap.device_kind << 24 | ((uint32_t)heap.device_index & 0xffffff);
}

int64_t block_log_first_ns(const struct block_log *log)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < log->count; i++)
        if (log->entries[i].time_ns < first)
            first = log->entries[i].time_ns;
    return log->count ? first : 0;
}
