/*
 * virtual.c - see virtual.h. Two lists of ranges in order of addresses: those given out (whole
 * segments and reserved ranges), and stretches of mapped pages, in which neighbours are joined.
 *
 * An event is the stream's place in the list of streams and a running number of the stream; it is
 * reached when the stream is past that number.
 */
#include "virtual.h"

#include <assert.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "search.h"

#define EVENT_BITS 40 /* of an event, for the running number */

struct range {
    uint64_t address, size;
    bool reserved; /* of addresses only, to be mapped */
};

struct ranges {
    struct range *at; /* by address; no two overlap */
    size_t count, cap;
};

struct stream {
    uint64_t stream;
    uint64_t recorded, reached; /* reached <= recorded */
};

/* Invariants: `taken` is the sum of the segments and the mapped stretches; each of these lies in
 * one reserved range. `taken` may be more than the capacity, after virtual_capacity or
 * virtual_hold. */
struct virtual_device {
    struct alloc_device seam;
    struct virtual_options options;
    uint64_t taken;
    struct ranges given, mapped;
    struct stream *streams;
    size_t stream_count, streams_cap;
    uint64_t events, stream_waits, misplaced;
};

/* ---- ranges ---- */

/* The first range that ends behind the address. */
static size_t ranges_find(const struct ranges *ranges, uint64_t address)
{
    size_t from;
    SEARCH_FIRST(from, 0, ranges->count,
                 ranges->at[from].address + ranges->at[from].size <= address);
    return from;
}

static bool ranges_overlap(const struct ranges *ranges, uint64_t address, uint64_t size)
{
    size_t at = ranges_find(ranges, address);
    return at < ranges->count && ranges->at[at].address < address + size;
}

static bool ranges_insert(struct ranges *ranges, const struct range *range)
{
    if (!MEM_GROW(ranges->at, ranges->cap, ranges->count + 1))
        return false;
    size_t at = ranges_find(ranges, range->address);
    memmove(&ranges->at[at + 1], &ranges->at[at], (ranges->count - at) * sizeof *ranges->at);
    ranges->at[at] = *range;
    ranges->count++;
    return true;
}

static void ranges_remove(struct ranges *ranges, size_t at)
{
    assert(at < ranges->count);
    ranges->count--;
    memmove(&ranges->at[at], &ranges->at[at + 1], (ranges->count - at) * sizeof *ranges->at);
}

static bool ranges_are_valid(const struct ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->at[i];
        if (range->size == 0 || range->address + range->size < range->address ||
            (i && ranges->at[i - 1].address + ranges->at[i - 1].size > range->address))
            return false;
    }
    return true;
}

/* ---- addresses ---- */

static uint64_t align(uint64_t address)
{
    return (address + VIRTUAL_ALIGNMENT - 1) & ~(VIRTUAL_ALIGNMENT - 1);
}

static bool is_free(const struct virtual_device *device, uint64_t address, uint64_t bytes)
{
    return address && bytes <= UINT64_MAX - address &&
           !ranges_overlap(&device->given, address, bytes);
}

/* The lowest gap. 0: none, which means that 64 bits are full. */
static uint64_t lowest_gap(const struct virtual_device *device, uint64_t bytes)
{
    uint64_t address = device->options.base;
    for (size_t i = 0; i < device->given.count; i++) {
        const struct range *range = &device->given.at[i];
        if (range->address + range->size <= address)
            continue;
        if (range->address >= address && range->address - address >= bytes)
            break;
        address = align(range->address + range->size);
    }
    return is_free(device, address, bytes) ? address : 0;
}

static int give_out(struct virtual_device *device, uint64_t bytes, uint64_t stream, bool reserved,
                    uint64_t *address)
{
    struct range range = {.size = bytes, .reserved = reserved};
    const struct virtual_options *options = &device->options;
    if (bytes == 0)
        return ERR_ARG;
    bool named =
        options->place && options->place(options->place_self, bytes, stream, &range.address);
    if (named && !is_free(device, range.address, bytes)) {
        device->misplaced++;
        named = false;
    }
    if (!named)
        range.address = lowest_gap(device, bytes);
    if (!range.address || !ranges_insert(&device->given, &range))
        return ERR_NOMEM;
    *address = range.address;
    return BASE_OK;
}

/* The range of exactly that place. given.count: there is none. */
static size_t find_given(const struct virtual_device *device, uint64_t address, uint64_t bytes,
                         bool reserved)
{
    size_t at = ranges_find(&device->given, address);
    if (at < device->given.count && device->given.at[at].address == address &&
        device->given.at[at].size == bytes && device->given.at[at].reserved == reserved)
        return at;
    return device->given.count;
}

static bool has_room(const struct virtual_device *device, uint64_t bytes)
{
    return device->taken <= device->options.capacity &&
           bytes <= device->options.capacity - device->taken;
}

/* ---- the seam: memory ---- */

static int take(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    struct virtual_device *device = self;
    if (!has_room(device, bytes))
        return ERR_NOMEM;
    int err = give_out(device, bytes, stream, false, address);
    device->taken += err == BASE_OK ? bytes : 0;
    return err;
}

static int give(void *self, uint64_t address, uint64_t bytes)
{
    struct virtual_device *device = self;
    size_t at = find_given(device, address, bytes, false);
    if (at == device->given.count)
        return ERR_NOTFOUND;
    ranges_remove(&device->given, at);
    device->taken -= bytes;
    return BASE_OK;
}

static int reserve(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    return give_out(self, bytes, stream, true, address);
}

static int unreserve(void *self, uint64_t address, uint64_t bytes)
{
    struct virtual_device *device = self;
    size_t at = find_given(device, address, bytes, true);
    if (at == device->given.count)
        return ERR_NOTFOUND;
    if (ranges_overlap(&device->mapped, address, bytes))
        return ERR_BUSY;
    ranges_remove(&device->given, at);
    return BASE_OK;
}

static bool is_reserved(const struct virtual_device *device, uint64_t address, uint64_t bytes)
{
    size_t at = ranges_find(&device->given, address);
    if (at == device->given.count)
        return false;
    const struct range *range = &device->given.at[at];
    return range->reserved && range->address <= address &&
           bytes <= range->address + range->size - address;
}

/* Stretches are joined only inside one reserved range. */
static bool can_join(const struct virtual_device *device, size_t left, size_t right)
{
    const struct range *a = &device->mapped.at[left], *b = &device->mapped.at[right];
    return a->address + a->size == b->address && is_reserved(device, a->address, a->size + b->size);
}

static void join(struct virtual_device *device, size_t at)
{
    struct ranges *mapped = &device->mapped;
    if (at + 1 < mapped->count && can_join(device, at, at + 1)) {
        mapped->at[at].size += mapped->at[at + 1].size;
        ranges_remove(mapped, at + 1);
    }
    if (at > 0 && can_join(device, at - 1, at)) {
        mapped->at[at - 1].size += mapped->at[at].size;
        ranges_remove(mapped, at);
    }
}

static int map(void *self, uint64_t address, uint64_t bytes)
{
    struct virtual_device *device = self;
    struct range range = {.address = address, .size = bytes};
    if (!bytes || !is_reserved(device, address, bytes) ||
        ranges_overlap(&device->mapped, address, bytes))
        return ERR_ARG;
    if (!has_room(device, bytes) || !ranges_insert(&device->mapped, &range))
        return ERR_NOMEM;
    device->taken += bytes;
    join(device, ranges_find(&device->mapped, address));
    return BASE_OK;
}

static int unmap(void *self, uint64_t address, uint64_t bytes)
{
    struct virtual_device *device = self;
    size_t at = ranges_find(&device->mapped, address);
    if (at == device->mapped.count || device->mapped.at[at].address > address)
        return ERR_ARG;
    struct range *range = &device->mapped.at[at];
    uint64_t end = range->address + range->size;
    if (!bytes || bytes > end - address)
        return ERR_ARG;
    struct range behind = {.address = address + bytes, .size = end - address - bytes};
    range->size = address - range->address;
    if (behind.size && !ranges_insert(&device->mapped, &behind)) {
        range->size = end - range->address;
        return ERR_NOMEM;
    }
    if (device->mapped.at[at].size == 0)
        ranges_remove(&device->mapped, at);
    device->taken -= bytes;
    return BASE_OK;
}

static int memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const struct virtual_device *device = self;
    *total_bytes = device->options.capacity;
    *free_bytes = device->taken < *total_bytes ? *total_bytes - device->taken : 0;
    return BASE_OK;
}

/* ---- the seam: streams ---- */

static struct stream *find_stream(const struct virtual_device *device, uint64_t stream)
{
    for (size_t i = 0; i < device->stream_count; i++) {
        if (device->streams[i].stream == stream)
            return &device->streams[i];
    }
    return NULL;
}

static int event_record(void *self, uint64_t stream, uint64_t *event)
{
    struct virtual_device *device = self;
    struct stream *found = find_stream(device, stream);
    if (!found) {
        if (!MEM_GROW(device->streams, device->streams_cap, device->stream_count + 1))
            return ERR_NOMEM;
        found = &device->streams[device->stream_count++];
        *found = (struct stream){.stream = stream};
    }
    found->recorded++;
    if (!device->options.manual)
        found->reached = found->recorded;
    *event = (uint64_t)(found - device->streams) << EVENT_BITS | found->recorded;
    device->events++;
    return BASE_OK;
}

static struct stream *stream_of(const struct virtual_device *device, uint64_t event)
{
    assert(event >> EVENT_BITS < device->stream_count);
    return &device->streams[event >> EVENT_BITS];
}

static uint64_t number_of(uint64_t event)
{
    return event & ((UINT64_C(1) << EVENT_BITS) - 1);
}

static int event_query(void *self, uint64_t event)
{
    return number_of(event) <= stream_of(self, event)->reached ? BASE_OK : ERR_BUSY;
}

static int event_wait(void *self, uint64_t event)
{
    struct stream *stream = stream_of(self, event);
    if (stream->reached < number_of(event))
        stream->reached = number_of(event);
    return BASE_OK;
}

static void event_forget(void *self, uint64_t event)
{
    struct virtual_device *device = self;
    assert(stream_of(device, event)->recorded >= number_of(event) && device->events);
    (void)event;
    device->events--;
}

static int stream_wait(void *self, uint64_t stream)
{
    struct virtual_device *device = self;
    device->stream_waits++;
    virtual_reach(device, stream, UINT64_MAX);
    return BASE_OK;
}

/* ---- public ---- */

int virtual_new(struct virtual_device **out, const struct virtual_options *options)
{
    *out = NULL;
    if (options->base % VIRTUAL_ALIGNMENT)
        return ERR_ARG;
    struct virtual_device *device = mem_alloc(1, sizeof *device);
    if (!device)
        return ERR_NOMEM;
    device->options = *options;
    if (!device->options.base)
        device->options.base = VIRTUAL_BASE;
    device->seam = (struct alloc_device){
        .self = device,
        .name = "virtual",
        .take = take,
        .give = give,
        .reserve = reserve,
        .unreserve = unreserve,
        .map = map,
        .unmap = unmap,
        .event_record = event_record,
        .event_query = event_query,
        .event_wait = event_wait,
        .event_forget = event_forget,
        .stream_wait = stream_wait,
        .memory = memory,
    };
    *out = device;
    return BASE_OK;
}

void virtual_delete(struct virtual_device *device)
{
    if (!device)
        return;
    mem_free(device->given.at);
    mem_free(device->mapped.at);
    mem_free(device->streams);
    mem_free(device);
}

const struct alloc_device *virtual_seam(struct virtual_device *device)
{
    return &device->seam;
}

bool virtual_is_valid(const struct virtual_device *device)
{
    uint64_t taken = 0;
    if (!ranges_are_valid(&device->given) || !ranges_are_valid(&device->mapped))
        return false;
    for (size_t i = 0; i < device->given.count; i++)
        taken += device->given.at[i].reserved ? 0 : device->given.at[i].size;
    for (size_t i = 0; i < device->mapped.count; i++) {
        if (!is_reserved(device, device->mapped.at[i].address, device->mapped.at[i].size))
            return false;
        taken += device->mapped.at[i].size;
    }
    for (size_t i = 0; i < device->stream_count; i++) {
        if (device->streams[i].reached > device->streams[i].recorded)
            return false;
    }
    return taken == device->taken;
}

void virtual_reach(struct virtual_device *device, uint64_t stream, uint64_t count)
{
    struct stream *found = find_stream(device, stream);
    if (!found)
        return;
    uint64_t left = found->recorded - found->reached;
    found->reached += count < left ? count : left;
}

int virtual_hold(struct virtual_device *device, uint64_t address, uint64_t bytes, bool reserved)
{
    struct range range = {.address = address, .size = bytes, .reserved = reserved};
    if (!bytes || !is_free(device, address, bytes))
        return ERR_ARG;
    if (!ranges_insert(&device->given, &range))
        return ERR_NOMEM;
    device->taken += reserved ? 0 : bytes;
    return BASE_OK;
}

void virtual_capacity(struct virtual_device *device, uint64_t bytes)
{
    device->options.capacity = bytes;
}

void virtual_counts(const struct virtual_device *device, struct virtual_counts *counts)
{
    *counts = (struct virtual_counts){
        .taken = device->taken,
        .mapped = device->mapped.count,
        .events = device->events,
        .stream_waits = device->stream_waits,
        .misplaced = device->misplaced,
    };
    for (size_t i = 0; i < device->given.count; i++) {
        if (device->given.at[i].reserved)
            counts->reserved++;
        else
            counts->segments++;
    }
}
