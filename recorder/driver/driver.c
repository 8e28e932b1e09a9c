/* See driver.h. */
#include "driver.h"

#include <assert.h>

#include "heap.h"
#include "ledger.h"
#include "mem.h"

static const char *const kind_texts[DRIVER_MEMORY_COUNT] = {
    [DRIVER_DEVICE] = "device",         [DRIVER_MANAGED] = "managed",   [DRIVER_ARRAY] = "array",
    [DRIVER_PHYSICAL] = "physical",     [DRIVER_ASYNC] = "async",       [DRIVER_POOL] = "pool",
    [DRIVER_GRAPH] = "graph",           [DRIVER_IMPORTED] = "imported", [DRIVER_HOST] = "host",
    [DRIVER_REGISTERED] = "registered",
};

struct driver_device *driver_device(struct driver *driver, const struct heap_device *device)
{
    assert(device->index < HEAP_MAX_DEVICES);
    if (!driver->devices)
        driver->devices = mem_alloc(HEAP_MAX_DEVICES, sizeof *driver->devices);
    return driver->devices ? &driver->devices[device->index] : NULL;
}

/* ---- what lies where ---- */

uint64_t driver_end_at(uint64_t address, uint64_t size)
{
    return size > UINT64_MAX - address ? UINT64_MAX : address + size;
}

struct driver_piece *driver_piece_from(const struct order_entry *entry)
{
    return entry ? (struct driver_piece *)(uintptr_t)entry->value : NULL;
}

struct driver_range *driver_range_from(const struct order_entry *entry)
{
    return entry ? (struct driver_range *)(uintptr_t)entry->value : NULL;
}

struct driver_piece *driver_piece_in(const struct driver *driver, uint64_t begin, uint64_t end)
{
    struct driver_piece *piece = driver_piece_from(order_below(&driver->memory, begin));
    if (piece && driver_end_at(piece->address, (uint64_t)piece->size) > begin)
        return piece;
    struct order_cursor cursor = order_seek(&driver->memory, begin);
    piece = driver_piece_from(order_next(&driver->memory, &cursor));
    return piece && piece->address < end ? piece : NULL;
}

struct driver_range *driver_range_in(const struct driver *driver, uint64_t begin, uint64_t end)
{
    struct driver_range *range = driver_range_from(order_below(&driver->mapped, begin));
    if (range && driver_end_at(range->address, (uint64_t)range->size) > begin)
        return range;
    struct order_cursor cursor = order_seek(&driver->mapped, begin);
    range = driver_range_from(order_next(&driver->mapped, &cursor));
    return range && range->address < end ? range : NULL;
}

static struct driver_piece *of_handle(const struct driver *driver, unsigned kind, uint64_t handle)
{
    uint64_t found = map_get(&driver->handles[kind], handle);
    assert(kind < DRIVER_MEMORY_COUNT);
    return found == MAP_NONE ? NULL : (struct driver_piece *)(uintptr_t)found;
}

/* What a free or a mapping names. Memory of another process can be told of as if it were its own.
 */
static struct driver_piece *named(const struct driver *driver, unsigned kind, uint64_t address)
{
    struct driver_piece *piece = NULL;
    if (driver_has_handle(kind)) {
        piece = of_handle(driver, kind, address);
    } else {
        const struct order_entry *entry = order_below(&driver->memory, address);
        piece = entry && entry->address == address ? driver_piece_from(entry) : NULL;
    }
    return piece || kind == DRIVER_ARRAY || kind == DRIVER_POOL
               ? piece
               : of_handle(driver, DRIVER_IMPORTED, address);
}

/* ---- memory comes and goes ---- */

static void unlink_piece(struct driver *driver, const struct driver_piece *piece)
{
    if (driver_has_handle(piece->kind))
        map_remove(&driver->handles[piece->kind], piece->address);
    else
        order_remove(&driver->memory, piece->address);
}

/* It is not to be found any more, and nothing of it is mapped. */
static void end_piece(struct driver *driver, struct driver_piece *piece, struct driver_when when)
{
    driver_disown(driver, piece, when);
    driver_put_owner(driver, piece);
    driver_given(driver, piece, false);
    struct row_driver_memory_end row = {
        .seq = piece->seq,
        .life_ns = when.ns - piece->alloc_ns,
        .free_seq = driver->ledger->seq,
    };
    if (!batch_put_driver_memory_end(driver->ledger->batch, &row))
        note_owed(driver->account, EVENT_DRIVER_FREE, 1);
    mem_free(piece);
}

/* Given back: at once, or when nothing of it is mapped any more. */
static void let_go(struct driver *driver, struct driver_piece *piece, struct driver_when when)
{
    unlink_piece(driver, piece);
    if (piece->mapped)
        piece->released = true;
    else
        end_piece(driver, piece, when);
}

static void end_former(struct driver *driver, const struct driver_piece *fresh,
                       struct driver_when when)
{
    struct driver_piece *old;
    uint64_t end = driver_end_at(fresh->address, fresh->size ? (uint64_t)fresh->size : 1);
    do {
        old = driver_has_handle(fresh->kind) ? of_handle(driver, fresh->kind, fresh->address)
                                             : driver_piece_in(driver, fresh->address, end);
        if (!old)
            break;
        note(driver->account, NOTE_DRIVER_TWICE, old->address, "first as seq %lld, %lld bytes",
             (long long)old->seq, (long long)old->size);
        let_go(driver, old, when);
    } while (true);
    if (fresh->kind == DRIVER_PHYSICAL)
        map_remove(&driver->again, fresh->address);
}

static struct row_opt device_id(const struct heap_device *device)
{
    return row_opt(device ? device->id : ROW_UNKNOWN);
}

static bool put_row(struct driver *driver, const struct driver_piece *piece,
                    const struct event *event)
{
    struct names_defs *defs = driver->defs;
    struct row_driver_memory row = {
        .seq = piece->seq,
        .process = driver->account->id,
        .device = device_id(piece->device),
        .kind = kind_texts[piece->kind],
        .address = (int64_t)piece->address,
        .size = piece->size,
        .call = row_id(names_lookup(defs, event->name, ARENA_STRING)),
        .library = row_id(names_lookup(defs, (uint32_t)(event->a >> 32), ARENA_STRING)),
        .stream = row_opt_if(piece->kind == DRIVER_ASYNC, (int64_t)event->b),
        .alloc_ns = piece->alloc_ns,
        .site = row_id(names_lookup(defs, event->site, ARENA_SITE)),
        .blocks = 0,
    };
    return batch_put_driver_memory(driver->ledger->batch, &row);
}

/* Heap 0 is the host's memory; without memory for the device the event is owed. */
static bool device_of(struct driver *driver, const struct event *event, struct heap_device **device)
{
    *device = NULL;
    if (!event->heap)
        return true;
    const struct heap *heap = heap_of_event(driver->heaps, event);
    if (!heap)
        return false;
    struct driver_device *own = driver_device(driver, heap->device);
    if (!own)
        return false;
    *device = heap->device;
    own->driven = true;
    return true;
}

static bool link_piece(struct driver *driver, struct driver_piece *piece)
{
    uint64_t value = (uintptr_t)piece;
    return driver_has_handle(piece->kind)
               ? map_put(&driver->handles[piece->kind], piece->address, value, NULL)
               : order_put(&driver->memory, piece->address, value);
}

/* The row and the place where it is found: both or none. */
static bool open_piece(struct driver *driver, struct driver_piece *piece, const struct event *event)
{
    struct batch_mark mark = batch_mark(driver->ledger->batch);
    if (!put_row(driver, piece, event))
        return false;
    if (link_piece(driver, piece))
        return true;
    batch_back_to(driver->ledger->batch, mark);
    return false;
}

static struct driver_when when_of(const struct event *event, int64_t ns)
{
    return (struct driver_when){ns, (event->flags & EVENT_F_LATE) != 0};
}

void driver_alloc(struct driver *driver, const struct event *event, int64_t ns)
{
    unsigned kind = event->a & 0xff;
    if (!kind || kind >= DRIVER_MEMORY_COUNT) {
        note(driver->account, NOTE_UNKNOWN_EVENT, event->addr, "memory of kind %u", kind);
        return;
    }
    struct driver_piece *piece = mem_alloc(1, sizeof *piece);
    struct heap_device *device;
    if (!piece || !device_of(driver, event, &device)) {
        mem_free(piece);
        note_owed(driver->account, EVENT_DRIVER_ALLOC, 1);
        return;
    }
    *piece = (struct driver_piece){.seq = driver->ledger->seq,
                                   .address = event->addr,
                                   .size = heap_cut(event->size),
                                   .alloc_ns = ns,
                                   .device = device,
                                   .site = event->site,
                                   .kind = (uint8_t)kind};
    end_former(driver, piece, when_of(event, ns));
    if (open_piece(driver, piece, event)) {
        driver_given(driver, piece, true);
        return;
    }
    mem_free(piece);
    note_owed(driver->account, EVENT_DRIVER_ALLOC, 1);
}

void driver_free(struct driver *driver, const struct event *event, int64_t ns)
{
    unsigned kind = event->a & 0xff;
    if (!kind || kind >= DRIVER_MEMORY_COUNT) {
        note(driver->account, NOTE_UNKNOWN_EVENT, event->addr, "memory of kind %u", kind);
        return;
    }
    struct driver_piece *piece = named(driver, kind, event->addr);
    if (piece)
        let_go(driver, piece, when_of(event, ns));
    else if (kind != DRIVER_PHYSICAL || map_remove(&driver->again, event->addr) == MAP_NONE)
        driver->unknown_frees++;
}

/* ---- mappings ---- */

static bool put_mapping(struct driver *driver, const struct heap_device *device,
                        const struct event *event, const struct driver_piece *piece, int64_t mapped,
                        int64_t ns)
{
    struct row_driver_mapping row = {
        .seq = driver->ledger->seq,
        .process = driver->account->id,
        .device = device_id(device),
        .address = (int64_t)event->addr,
        .size = heap_cut(event->size),
        .memory = row_opt(piece ? piece->seq : ROW_UNKNOWN),
        .at_ns = ns,
        .mapped = mapped,
    };
    return batch_put_driver_mapping(driver->ledger->batch, &row);
}

static bool put_range(struct driver *driver, const struct driver_range *like)
{
    struct driver_range *range = mem_alloc(1, sizeof *range);
    assert(like->size > 0);
    if (!range)
        return false;
    *range = *like;
    if (order_put(&driver->mapped, range->address, (uintptr_t)range))
        return true;
    mem_free(range);
    return false;
}

/* Its handle may be given back once more: by those who had asked for the handle of an address. */
static void end_unmapped(struct driver *driver, struct driver_piece *piece, struct driver_when when)
{
    struct map *again = &driver->again;
    if (again->count >= DRIVER_RELEASED)
        map_clear(again);
    if (piece->kind == DRIVER_PHYSICAL)
        map_put(again, piece->address, 1, NULL);
    end_piece(driver, piece, when);
}

/* Returns the bytes that the range loses. Without memory for what is left behind the hole, that is
 * forgotten, too. */
static int64_t cut(struct driver *driver, struct driver_range *range, uint64_t begin, uint64_t end,
                   struct driver_when when)
{
    struct driver_piece *piece = range->memory;
    uint64_t from = range->address > begin ? range->address : begin;
    uint64_t last = range->address + (uint64_t)range->size, to = last < end ? last : end;
    struct driver_range rest = *range;
    int64_t taken = (int64_t)(to - from), lost = taken;
    rest.address = to;
    rest.size = (int64_t)(last - to);
    if (rest.size && !put_range(driver, &rest)) {
        note_owed(driver->account, EVENT_DRIVER_MAP, 1);
        lost += rest.size;
        to = last;
    }
    driver_disown_range(driver, range, from, to, when);
    if (from > range->address) {
        range->size = (int64_t)(from - range->address);
    } else {
        order_remove(&driver->mapped, range->address);
        mem_free(range);
    }
    if (piece) {
        piece->mapped -= lost;
        if (piece->released && !piece->mapped)
            end_unmapped(driver, piece, when);
    }
    return taken;
}

static int64_t take_out(struct driver *driver, uint64_t begin, uint64_t end,
                        struct driver_when when)
{
    int64_t taken = 0;
    struct driver_range *range;
    while (begin < end && (range = driver_range_in(driver, begin, end))) {
        int64_t bytes = cut(driver, range, begin, end, when);
        taken = bytes > INT64_MAX - taken ? INT64_MAX : taken + bytes;
    }
    return taken;
}

void driver_map(struct driver *driver, const struct event *event, int64_t ns)
{
    struct heap_device *device;
    if (!device_of(driver, event, &device)) {
        note_owed(driver->account, EVENT_DRIVER_MAP, 1);
        return;
    }
    uint64_t end = driver_end_at(event->addr, event->size);
    int64_t twice = take_out(driver, event->addr, end, when_of(event, ns));
    if (twice)
        note(driver->account, NOTE_DRIVER_TWICE, event->addr, "%lld bytes were mapped",
             (long long)twice);
    struct driver_piece *piece = named(driver, DRIVER_PHYSICAL, event->b);
    struct driver_range range = {.address = event->addr,
                                 .size = ledger_cut(end - event->addr),
                                 .seq = driver->ledger->seq,
                                 .ns = ns,
                                 .device = device,
                                 .memory = piece};
    if (piece && range.size > INT64_MAX - piece->mapped)
        range.size = INT64_MAX - piece->mapped;
    if (!put_mapping(driver, device, event, piece, 1, ns))
        note_owed(driver->account, OWED_FACT, 1);
    if (!range.size)
        return;
    if (!put_range(driver, &range))
        note_owed(driver->account, EVENT_DRIVER_MAP, 1);
    else if (piece)
        piece->mapped += range.size;
}

void driver_unmap(struct driver *driver, const struct event *event, int64_t ns)
{
    struct heap_device *device;
    if (!device_of(driver, event, &device)) {
        note_owed(driver->account, EVENT_DRIVER_UNMAP, 1);
        return;
    }
    if (!put_mapping(driver, device, event, NULL, 0, ns))
        note_owed(driver->account, OWED_FACT, 1);
    uint64_t end = driver_end_at(event->addr, event->size);
    if (take_out(driver, event->addr, end, when_of(event, ns)) < ledger_cut(event->size))
        driver->unknown_unmaps++;
}
