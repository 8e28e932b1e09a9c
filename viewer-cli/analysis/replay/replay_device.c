#include "replay_device.h"

#include <string.h>

#include "error.h"
#include "mem.h"
#include "search.h"

#define ALIGN (UINT64_C(2) << 20)

static void count_taken(struct replay_device *device, uint64_t bytes, bool equal)
{
    device->taken++;
    device->equal += equal;
    device->held += bytes;
    if (device->held <= device->peak)
        return;
    device->peak = device->held;
    device->peak_block = device->block;
}

static bool is_short(struct replay_device *device, uint64_t bytes)
{
    bool refuse = device->short_once;
    device->short_once = false;
    return refuse || bytes > device->memory || device->held > device->memory - bytes;
}

static uint64_t fresh(struct replay_device *device, uint64_t bytes)
{
    uint64_t address = device->next_address;
    device->next_address += (bytes + 2 * ALIGN - 1) / ALIGN * ALIGN; /* none touches another */
    return address;
}

/* ---- what is out ---- */

/* The first that ends above the address. */
static size_t find_out(const struct replay_device *device, uint64_t address)
{
    size_t low;
    SEARCH_FIRST(low, 0, device->out_count, device->out[low].end <= address);
    return low;
}

static bool is_free(const struct replay_device *device, uint64_t address, uint64_t bytes)
{
    size_t at = find_out(device, address);
    return at == device->out_count || device->out[at].address >= address + bytes;
}

static int put_out(struct replay_device *device, uint64_t address, uint64_t bytes)
{
    if (!device->addresses)
        return BASE_OK;
    if (!MEM_GROW(device->out, device->out_cap, device->out_count + 1)) {
        device->starved = true; /* ERR_NOMEM would be a full device */
        return ERR_INTERNAL;
    }
    size_t at = find_out(device, address);
    memmove(device->out + at + 1, device->out + at,
            (device->out_count++ - at) * sizeof *device->out);
    device->out[at] = (struct replay_held){address, address + bytes};
    return BASE_OK;
}

static void drop_out(struct replay_device *device, uint64_t address)
{
    size_t at = find_out(device, address);
    if (at == device->out_count || device->out[at].address != address)
        return;
    memmove(device->out + at, device->out + at + 1,
            (--device->out_count - at) * sizeof *device->out);
}

/* ---- whole segments ---- */

static const struct replay_segment *next_of_size(struct replay_device *device, uint64_t bytes)
{
    const struct replay_trace *trace = device->trace;
    size_t first = device->next_segment;
    while (first < trace->segment_count && device->given[first])
        first++;
    device->next_segment = first;
    for (size_t i = first; i < trace->segment_count && i - first < REPLAY_AHEAD; i++) {
        const struct replay_segment *segment = &trace->segments[i];
        if (device->given[i] || segment->size != bytes || !is_free(device, segment->address, bytes))
            continue;
        device->given[i] = true;
        return segment;
    }
    return NULL;
}

static int take(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    struct replay_device *device = self;
    (void)stream;
    if (is_short(device, bytes))
        return ERR_NOMEM;
    const struct replay_segment *segment = device->addresses ? next_of_size(device, bytes) : NULL;
    *address = segment ? segment->address : fresh(device, bytes);
    int err = put_out(device, *address, bytes);
    if (err == BASE_OK)
        count_taken(device, bytes, segment != NULL);
    return err;
}

static int give(void *self, uint64_t address, uint64_t bytes)
{
    struct replay_device *device = self;
    drop_out(device, address);
    device->held -= bytes;
    return BASE_OK;
}

/* ---- expandable segments ---- */

static bool is_reserved(const struct replay_device *device, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < device->reserved_count; i++)
        if (device->reserved[i].address < address + bytes && address < device->reserved[i].end)
            return true;
    return false;
}

bool replay_device_reserved(struct replay_device *device, uint64_t address, uint64_t bytes)
{
    if (!MEM_GROW(device->reserved, device->reserved_cap, device->reserved_count + 1))
        return false;
    device->reserved[device->reserved_count++] = (struct replay_held){address, address + bytes};
    return true;
}

/* The stream's next one that was not given out yet, if nothing else is reserved there just now. */
static const struct replay_range *next_range(struct replay_device *device, uint64_t stream,
                                             uint64_t bytes)
{
    const struct replay_trace *trace = device->trace;
    size_t first = device->next_range;
    if (!device->given_ranges)
        return NULL;
    while (first < trace->range_count &&
           (trace->ranges[first].adopted || device->given_ranges[first]))
        first++;
    device->next_range = first;
    for (size_t i = first; i < trace->range_count && i - first < REPLAY_AHEAD; i++) {
        const struct replay_range *range = &trace->ranges[i];
        if (device->given_ranges[i] || trace->heaps[range->heap].name != stream ||
            is_reserved(device, range->address, bytes))
            continue;
        device->given_ranges[i] = true;
        return range;
    }
    return NULL;
}

static int reserve(void *self, uint64_t bytes, uint64_t stream, uint64_t *address)
{
    struct replay_device *device = self;
    const struct replay_range *range = next_range(device, stream, bytes);
    *address = range ? range->address : fresh(device, bytes);
    if (replay_device_reserved(device, *address, bytes))
        return BASE_OK;
    device->starved = true; /* ERR_NOMEM would be a full device */
    return ERR_INTERNAL;
}

static int unreserve(void *self, uint64_t address, uint64_t bytes)
{
    struct replay_device *device = self;
    for (size_t i = 0; i < device->reserved_count; i++) {
        if (device->reserved[i].address != address || device->reserved[i].end != address + bytes)
            continue;
        device->reserved[i] = device->reserved[--device->reserved_count];
        break;
    }
    return BASE_OK;
}

/* As recorded if the next rows of what was mapped begin there. The record may have in one row what
 * is asked for page by page here, and the other way round. */
static bool is_next_mapping(struct replay_device *device, uint64_t address, uint64_t bytes)
{
    const struct replay_trace *trace = device->trace;
    uint64_t end = address + bytes;
    while (device->addresses && device->next_mapping < trace->mapping_count) {
        const struct replay_mapping *mapping = &trace->mappings[device->next_mapping];
        uint64_t last = mapping->address + mapping->size;
        if (!mapping->mapped || mapping->seq <= trace->rebuilt_until) {
            device->next_mapping++;
            continue;
        }
        if (address < mapping->address || address >= last)
            return false;
        if (end < last)
            return true; /* more of this row is to come */
        device->next_mapping++;
        if (end == last)
            return true;
        address = last;
    }
    return false;
}

static int map(void *self, uint64_t address, uint64_t bytes)
{
    struct replay_device *device = self;
    if (is_short(device, bytes))
        return ERR_NOMEM;
    count_taken(device, bytes, is_next_mapping(device, address, bytes));
    return BASE_OK;
}

static int unmap(void *self, uint64_t address, uint64_t bytes)
{
    struct replay_device *device = self;
    (void)address;
    device->held -= bytes;
    return BASE_OK;
}

/* ---- streams: a trace says when each block is idle, so no event is ever waited for ---- */

static int event_record(void *self, uint64_t stream, uint64_t *event)
{
    struct replay_device *device = self;
    (void)stream;
    *event = ++device->next_event;
    return BASE_OK;
}

static int event_query(void *self, uint64_t event)
{
    (void)self;
    (void)event;
    return BASE_OK;
}

static void event_forget(void *self, uint64_t event)
{
    (void)self;
    (void)event;
}

static int memory(void *self, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const struct replay_device *device = self;
    *total_bytes = device->total;
    *free_bytes = device->held < device->total ? device->total - device->held : 0;
    return BASE_OK;
}

/* ---- the device ---- */

static uint64_t end_of_record(const struct replay_trace *trace)
{
    uint64_t end = UINT64_C(1) << 40;
    for (size_t i = 0; i < trace->segment_count; i++)
        if (trace->segments[i].address + trace->segments[i].size > end)
            end = trace->segments[i].address + trace->segments[i].size;
    for (size_t i = 0; i < trace->range_count; i++)
        if (trace->ranges[i].end > end)
            end = trace->ranges[i].end;
    return end;
}

/* A range of an expandable segment is 9/8 of the device. Where that is not known, it is as large as
 * the distances of ranges allow: none grows into the next one. */
static uint64_t total_of(const struct replay_trace *trace)
{
    uint64_t total = trace->total ? trace->total : REPLAY_MOST;
    if (!trace->total && trace->range_room > ALLOC_LARGE_SEGMENT)
        total = (trace->range_room - ALLOC_LARGE_SEGMENT) / 9 * 8;
    for (size_t i = 0; i < trace->range_count; i++)
        if (trace->ranges[i].end - trace->ranges[i].address > total)
            total = trace->ranges[i].end - trace->ranges[i].address;
    return total;
}

int replay_device_begin(struct replay_device *device, const struct replay_trace *trace,
                        bool addresses)
{
    *device = (struct replay_device){
        .trace = trace,
        .addresses = addresses,
        .next_segment = trace->adopted_segments,
        .total = total_of(trace),
        .memory = ALLOC_MAX_REQUEST,
        .block = UINT32_MAX,
        .peak_block = UINT32_MAX,
        .seam = {.name = "replay",
                 .take = take,
                 .give = give,
                 .reserve = reserve,
                 .unreserve = unreserve,
                 .map = map,
                 .unmap = unmap,
                 .event_record = event_record,
                 .event_query = event_query,
                 .event_wait = event_query,
                 .event_forget = event_forget,
                 .stream_wait = event_query,
                 .memory = memory},
    };
    device->seam.self = device;
    /* The last segment of the record keeps its distance, wherever ranges were reserved. */
    device->next_address = (end_of_record(trace) / ALIGN + 1) * ALIGN + device->total * 2;
    if (addresses && trace->segment_count &&
        !(device->given = mem_alloc(trace->segment_count, sizeof *device->given)))
        return ERR_NOMEM;
    if (addresses && trace->range_count &&
        !(device->given_ranges = mem_alloc(trace->range_count, sizeof *device->given_ranges)))
        return ERR_NOMEM;
    return 0;
}

void replay_device_memory(struct replay_device *device, uint64_t bytes)
{
    device->memory = bytes;
    if (bytes < device->total)
        device->total = bytes;
}

void replay_device_end(struct replay_device *device)
{
    mem_free(device->given);
    mem_free(device->out);
    mem_free(device->given_ranges);
    mem_free(device->reserved);
    device->given = device->given_ranges = NULL;
    device->out = device->reserved = NULL;
}

bool replay_device_is_valid(const struct replay_device *device)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < device->out_count; i++) {
        const struct replay_held *held = &device->out[i];
        if (held->address >= held->end || (i && device->out[i - 1].end > held->address))
            return false;
        bytes += held->end - held->address;
    }
    if (device->next_segment > device->trace->segment_count)
        return false;
    return device->held <= device->peak && device->equal <= device->taken && bytes <= device->held;
}

int replay_device_adopt(struct replay_device *device, uint64_t address, uint64_t bytes,
                        bool expandable)
{
    if (!expandable && !is_free(device, address, bytes))
        return ERR_EXISTS;
    int err = expandable ? BASE_OK : put_out(device, address, bytes);
    if (err < 0)
        return err;
    device->held += bytes;
    if (device->held > device->peak)
        device->peak = device->held;
    return BASE_OK;
}

void replay_device_leave(struct replay_device *device, uint64_t address, uint64_t bytes,
                         bool expandable)
{
    if (!expandable)
        drop_out(device, address);
    device->held -= bytes;
}
