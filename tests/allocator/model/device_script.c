/*
 * device_script.c - ranges are kept in plain arrays in address order; a new one goes into the first
 * gap that is wide enough, from below or from above.
 */
#include "device_script.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"

/* Segments lie in the lower world, reserved ranges in the upper one. */
#define TAKEN_BASE (UINT64_C(1) << 32)
#define TAKEN_END (UINT64_C(1) << 44)
#define RESERVED_BASE (UINT64_C(1) << 44)
#define RESERVED_END (UINT64_C(1) << 50)

static void blame(struct device_script *script, const char *what)
{
    if (script->trouble == NULL)
        script->trouble = what;
}

/* ---- ranges ---- */

static void insert_range(struct script_range **ranges, size_t *count, size_t *cap, size_t at,
                         struct script_range range)
{
    if (!MEM_GROW(*ranges, *cap, *count + 1))
        abort();
    memmove(*ranges + at + 1, *ranges + at, (*count - at) * sizeof **ranges);
    (*ranges)[at] = range;
    (*count)++;
}

static void remove_range(struct script_range *ranges, size_t *count, size_t at)
{
    memmove(ranges + at, ranges + at + 1, (*count - at - 1) * sizeof *ranges);
    (*count)--;
}

/* The place in the order for an address: the first range that begins at it or behind it. */
static size_t place_of(const struct script_range *ranges, size_t count, uint64_t address)
{
    size_t at = 0;
    while (at < count && ranges[at].address < address)
        at++;
    return at;
}

static bool is_range(const struct script_range *ranges, size_t count, uint64_t address,
                     uint64_t bytes, size_t *at)
{
    *at = place_of(ranges, count, address);
    return *at < count && ranges[*at].address == address && ranges[*at].bytes == bytes;
}

/* The address of the lowest (or highest) gap of so many bytes between base and end; 0 = none. */
static uint64_t find_gap(const struct script_range *ranges, size_t count, uint64_t base,
                         uint64_t end, uint64_t bytes, bool downwards)
{
    uint64_t room = (bytes + SCRIPT_PIECE - 1) / SCRIPT_PIECE * SCRIPT_PIECE;
    uint64_t best = 0;
    for (size_t i = 0; i <= count; i++) {
        uint64_t from = base;
        if (i > 0)
            from = (ranges[i - 1].address + ranges[i - 1].bytes + SCRIPT_PIECE - 1) / SCRIPT_PIECE *
                   SCRIPT_PIECE;
        uint64_t to = i < count ? ranges[i].address : end;
        if (to < from || to - from < room)
            continue;
        best = downwards ? (to - room) / SCRIPT_PIECE * SCRIPT_PIECE : from;
        if (!downwards)
            break;
    }
    return best;
}

/* ---- segments ---- */

static bool fails(struct device_script *script, int *err)
{
    *err = script->fail_next;
    script->fail_next = 0;
    return *err != 0;
}

static int take(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    struct device_script *script = self;
    int err;
    (void)stream;
    if (fails(script, &err))
        return err;
    if (bytes == 0)
        blame(script, "take of no bytes");
    if (bytes > script->capacity || script->used > script->capacity - bytes)
        return ERR_NOMEM;
    uint64_t found = find_gap(script->taken, script->taken_count, TAKEN_BASE, TAKEN_END, bytes,
                              script->downwards);
    if (found == 0)
        return ERR_NOMEM;
    size_t at = place_of(script->taken, script->taken_count, found);
    insert_range(&script->taken, &script->taken_count, &script->taken_cap, at,
                 (struct script_range){.address = found, .bytes = bytes});
    script->used += bytes;
    *address = found;
    return BASE_OK;
}

static int give(void *self, uint64_t address, uint64_t bytes)
{
    struct device_script *script = self;
    size_t at;
    if (!is_range(script->taken, script->taken_count, address, bytes, &at)) {
        blame(script, "give of what was not taken");
        return ERR_ARG;
    }
    remove_range(script->taken, &script->taken_count, at);
    script->used -= bytes;
    return BASE_OK;
}

/* ---- expandable segments ---- */

static int reserve(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    struct device_script *script = self;
    (void)stream;
    uint64_t found = find_gap(script->reserved, script->reserved_count, RESERVED_BASE, RESERVED_END,
                              bytes, script->downwards);
    if (found == 0 || bytes == 0)
        return ERR_NOMEM;
    size_t at = place_of(script->reserved, script->reserved_count, found);
    insert_range(&script->reserved, &script->reserved_count, &script->reserved_cap, at,
                 (struct script_range){.address = found, .bytes = bytes});
    *address = found;
    return BASE_OK;
}

static bool overlaps_mapped(const struct device_script *script, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < script->mapped_count; i++)
        if (script->mapped[i].address < address + bytes &&
            address < script->mapped[i].address + script->mapped[i].bytes)
            return true;
    return false;
}

static int unreserve(void *self, uint64_t address, uint64_t bytes)
{
    struct device_script *script = self;
    size_t at;
    if (!is_range(script->reserved, script->reserved_count, address, bytes, &at)) {
        blame(script, "unreserve of what was not reserved");
        return ERR_ARG;
    }
    if (overlaps_mapped(script, address, bytes))
        blame(script, "unreserve of a range with mapped pages");
    remove_range(script->reserved, &script->reserved_count, at);
    return BASE_OK;
}

static void pages(void *self, uint64_t address, uint64_t bytes, uint64_t page)
{
    struct device_script *script = self;
    size_t at;
    if (!is_range(script->reserved, script->reserved_count, address, bytes, &at) || page == 0 ||
        bytes % page != 0)
        blame(script, "pages of what was not reserved, or that do not fill it");
    else
        script->reserved[at].page = page;
}

static const struct script_range *range_around(const struct device_script *script, uint64_t address,
                                               uint64_t bytes)
{
    for (size_t i = 0; i < script->reserved_count; i++)
        if (script->reserved[i].address <= address &&
            address + bytes <= script->reserved[i].address + script->reserved[i].bytes)
            return &script->reserved[i];
    return NULL;
}

static bool is_in_pages(const struct device_script *script, uint64_t address, uint64_t bytes)
{
    const struct script_range *range = range_around(script, address, bytes);
    if (range == NULL || bytes == 0)
        return false;
    return range->page == 0 ||
           ((address - range->address) % range->page == 0 && bytes % range->page == 0);
}

static int map(void *self, uint64_t address, uint64_t bytes)
{
    struct device_script *script = self;
    int err;
    if (fails(script, &err))
        return err;
    if (!is_in_pages(script, address, bytes) || overlaps_mapped(script, address, bytes)) {
        blame(script, "map of what is not reserved, or mapped already, or not of whole pages");
        return ERR_ARG;
    }
    if (bytes > script->capacity || script->used > script->capacity - bytes)
        return ERR_NOMEM;
    size_t at = place_of(script->mapped, script->mapped_count, address);
    insert_range(&script->mapped, &script->mapped_count, &script->mapped_cap, at,
                 (struct script_range){.address = address, .bytes = bytes});
    script->used += bytes;
    return BASE_OK;
}

/* Takes the part that lies in [from, to) out of range number `at`; its bytes. */
static uint64_t cut(struct device_script *script, size_t at, uint64_t from, uint64_t to)
{
    struct script_range old = script->mapped[at];
    uint64_t end = old.address + old.bytes;
    uint64_t low = from > old.address ? from : old.address;
    uint64_t high = to < end ? to : end;
    if (low >= high)
        return 0;
    remove_range(script->mapped, &script->mapped_count, at);
    if (high < end)
        insert_range(&script->mapped, &script->mapped_count, &script->mapped_cap, at,
                     (struct script_range){.address = high, .bytes = end - high});
    if (old.address < low)
        insert_range(&script->mapped, &script->mapped_count, &script->mapped_cap, at,
                     (struct script_range){.address = old.address, .bytes = low - old.address});
    return high - low;
}

static int unmap(void *self, uint64_t address, uint64_t bytes)
{
    struct device_script *script = self;
    uint64_t gone = 0;
    if (!is_in_pages(script, address, bytes))
        blame(script, "unmap of what is not whole pages of one range");
    for (size_t i = script->mapped_count; i-- > 0;)
        gone += cut(script, i, address, address + bytes);
    if (gone != bytes)
        blame(script, "unmap of pages that were not mapped");
    script->used -= gone;
    return BASE_OK;
}

/* ---- streams ---- */

static struct script_stream *stream_of(struct device_script *script, uint64_t handle)
{
    for (size_t i = 0; i < script->stream_count; i++)
        if (script->streams[i].handle == handle)
            return &script->streams[i];
    if (script->stream_count == SCRIPT_STREAMS)
        abort();
    script->streams[script->stream_count] = (struct script_stream){.handle = handle};
    return &script->streams[script->stream_count++];
}

/* An event: the index of its stream and its number there. */
static uint64_t event_number(uint64_t event)
{
    return event & UINT64_C(0xffffffff);
}

static struct script_stream *stream_of_event(struct device_script *script, uint64_t event)
{
    uint64_t index = event >> 32;
    if (index >= script->stream_count || event_number(event) > script->streams[index].recorded ||
        event_number(event) == 0) {
        blame(script, "an event that was never recorded");
        return NULL;
    }
    return &script->streams[index];
}

static int event_record(void *self, uint64_t stream, uint64_t *event)
{
    struct device_script *script = self;
    if (script->forbid_queries)
        blame(script, "an event recorded while a pool is begun");
    struct script_stream *of = stream_of(script, stream);
    of->recorded++;
    of->alive++;
    *event = (uint64_t)(of - script->streams) << 32 | of->recorded;
    return BASE_OK;
}

static int event_query(void *self, uint64_t event)
{
    struct device_script *script = self;
    struct script_stream *of = stream_of_event(script, event);
    if (script->forbid_queries)
        blame(script, "an event asked while a pool is begun");
    if (of == NULL)
        return ERR_ARG;
    int err = script->fail_next_query;
    script->fail_next_query = 0;
    if (err != 0)
        return err;
    return event_number(event) <= of->done ? BASE_OK : ERR_BUSY;
}

static int event_wait(void *self, uint64_t event)
{
    struct device_script *script = self;
    struct script_stream *of = stream_of_event(script, event);
    if (of == NULL)
        return ERR_ARG;
    if (of->done < event_number(event))
        of->done = event_number(event);
    return BASE_OK;
}

static void event_forget(void *self, uint64_t event)
{
    struct device_script *script = self;
    struct script_stream *of = stream_of_event(script, event);
    if (of == NULL)
        return;
    if (of->alive == 0)
        blame(script, "more events forgotten than recorded");
    else
        of->alive--;
}

static int stream_wait(void *self, uint64_t stream)
{
    struct script_stream *of = stream_of(self, stream);
    of->done = of->recorded;
    return BASE_OK;
}

static int memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    struct device_script *script = self;
    *free_bytes = script->capacity > script->used ? script->capacity - script->used : 0;
    *total_bytes = script->total;
    return BASE_OK;
}

/* ---- opening and closing ---- */

void device_script_open(struct device_script *script, uint64_t capacity, uint64_t total)
{
    *script = (struct device_script){.capacity = capacity, .total = total};
    script->seam = (struct alloc_device){
        .self = script,
        .name = "script",
        .take = take,
        .give = give,
        .reserve = reserve,
        .unreserve = unreserve,
        .map = map,
        .pages = pages,
        .unmap = unmap,
        .event_record = event_record,
        .event_query = event_query,
        .event_wait = event_wait,
        .event_forget = event_forget,
        .stream_wait = stream_wait,
        .memory = memory,
    };
}

const char *device_script_close(struct device_script *script)
{
    if (script->taken_count != 0)
        blame(script, "segments never given back");
    if (script->mapped_count != 0)
        blame(script, "pages never unmapped");
    if (script->reserved_count != 0)
        blame(script, "ranges never unreserved");
    for (size_t i = 0; i < script->stream_count; i++)
        if (script->streams[i].alive != 0)
            blame(script, "events never forgotten");
    mem_free(script->taken);
    mem_free(script->reserved);
    mem_free(script->mapped);
    return script->trouble;
}

void device_script_complete(struct device_script *script, uint64_t stream, uint64_t count)
{
    struct script_stream *of = stream_of(script, stream);
    of->done = count < of->recorded - of->done ? of->done + count : of->recorded;
}

static bool ranges_are_valid(const struct script_range *ranges, size_t count, uint64_t *sum)
{
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].bytes == 0)
            return false;
        if (i > 0 && ranges[i - 1].address + ranges[i - 1].bytes > ranges[i].address)
            return false;
        *sum += ranges[i].bytes;
    }
    return true;
}

bool device_script_is_valid(const struct device_script *script)
{
    uint64_t sum = 0;
    uint64_t reserved = 0;
    if (!ranges_are_valid(script->taken, script->taken_count, &sum) ||
        !ranges_are_valid(script->mapped, script->mapped_count, &sum) ||
        !ranges_are_valid(script->reserved, script->reserved_count, &reserved))
        return false;
    for (size_t i = 0; i < script->mapped_count; i++)
        if (range_around(script, script->mapped[i].address, script->mapped[i].bytes) == NULL)
            return false;
    for (size_t i = 0; i < script->stream_count; i++)
        if (script->streams[i].done > script->streams[i].recorded)
            return false;
    return sum == script->used;
}
