/* See driver.h. */
#include "driver.h"

#include "mem.h"
#include "state_types.h"

static const char *const kind_texts[DRIVER_MEMORY_COUNT] = {
    [DRIVER_DEVICE] = "device",         [DRIVER_MANAGED] = "managed",   [DRIVER_ARRAY] = "array",
    [DRIVER_PHYSICAL] = "physical",     [DRIVER_ASYNC] = "async",       [DRIVER_POOL] = "pool",
    [DRIVER_GRAPH] = "graph",           [DRIVER_IMPORTED] = "imported", [DRIVER_HOST] = "host",
    [DRIVER_REGISTERED] = "registered",
};

struct driver *driver_of(struct state_process *process)
{
    if (!process->driver)
        process->driver = mem_alloc(1, sizeof *process->driver);
    return process->driver;
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
static void end_piece(struct state_process *process, struct driver_piece *piece, int64_t ns)
{
    driver_disown(piece, ns);
    driver_put_owner(process, piece);
    driver_given(piece, false);
    if (!batch_put(process->state->ledger.batch, SCH_DRIVER_MEMORY_END, "iii", piece->seq,
                   ns - piece->alloc_ns, process->state->ledger.seq))
        note_owed(&process->account, EVENT_DRIVER_FREE, 1);
    mem_free(piece);
}

/* Given back: at once, or when nothing of it is mapped any more. */
static void let_go(struct state_process *process, struct driver_piece *piece, int64_t ns)
{
    unlink_piece(process->driver, piece);
    if (piece->mapped)
        piece->released = true;
    else
        end_piece(process, piece, ns);
}

static void end_former(struct state_process *process, const struct driver_piece *fresh, int64_t ns)
{
    struct driver *driver = process->driver;
    struct driver_piece *old;
    uint64_t end = driver_end_at(fresh->address, fresh->size ? (uint64_t)fresh->size : 1);
    do {
        old = driver_has_handle(fresh->kind) ? of_handle(driver, fresh->kind, fresh->address)
                                             : driver_piece_in(driver, fresh->address, end);
        if (!old)
            break;
        note(&process->account, NOTE_DRIVER_TWICE, old->address, "first as seq %lld, %lld bytes",
             (long long)old->seq, (long long)old->size);
        let_go(process, old, ns);
    } while (true);
    if (fresh->kind == DRIVER_PHYSICAL)
        map_remove(&driver->again, fresh->address);
}

static bool put_row(struct state_process *process, const struct driver_piece *piece,
                    const struct event *event)
{
    struct names_defs *defs = process->defs;
    uint32_t call = names_lookup(defs, event->name, ARENA_STRING);
    uint32_t library = names_lookup(defs, (uint32_t)(event->a >> 32), ARENA_STRING);
    uint32_t site = names_lookup(defs, event->site, ARENA_SITE);
    return batch_put(process->state->ledger.batch, SCH_DRIVER_MEMORY, "iinsiinnni00n0i", piece->seq,
                     process->account.id, piece->device ? piece->device->id : BATCH_NULL,
                     kind_texts[piece->kind], (int64_t)piece->address, piece->size,
                     call ? (int64_t)call : BATCH_NULL, library ? (int64_t)library : BATCH_NULL,
                     piece->kind == DRIVER_ASYNC ? (int64_t)event->b : BATCH_NULL, piece->alloc_ns,
                     site ? (int64_t)site : BATCH_NULL, (int64_t)0);
}

/* Heap 0 is the host's memory; without memory for the device the event is owed. */
static bool device_of(struct state_process *process, const struct event *event,
                      struct heap_device **device)
{
    *device = NULL;
    if (!event->heap)
        return true;
    const struct heap *heap = heap_of_event(process, event);
    if (!heap)
        return false;
    *device = heap->device;
    heap->device->driven = true;
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
static bool open_piece(struct state_process *process, struct driver_piece *piece,
                       const struct event *event)
{
    struct batch_mark mark = batch_mark(process->state->ledger.batch);
    if (!put_row(process, piece, event))
        return false;
    if (link_piece(process->driver, piece))
        return true;
    batch_back_to(process->state->ledger.batch, mark);
    return false;
}

void driver_alloc(struct state_process *process, const struct event *event, int64_t ns)
{
    unsigned kind = event->a & 0xff;
    if (!kind || kind >= DRIVER_MEMORY_COUNT) {
        note(&process->account, NOTE_UNKNOWN_EVENT, event->addr, "memory of kind %u", kind);
        return;
    }
    struct driver_piece *piece = mem_alloc(1, sizeof *piece);
    struct heap_device *device;
    if (!piece || !driver_of(process) || !device_of(process, event, &device)) {
        mem_free(piece);
        note_owed(&process->account, EVENT_DRIVER_ALLOC, 1);
        return;
    }
    *piece = (struct driver_piece){.seq = process->state->ledger.seq,
                                   .address = event->addr,
                                   .size = heap_cut(event->size),
                                   .alloc_ns = ns,
                                   .device = device,
                                   .site = event->site,
                                   .kind = (uint8_t)kind};
    end_former(process, piece, ns);
    if (open_piece(process, piece, event)) {
        driver_given(piece, true);
        return;
    }
    mem_free(piece);
    note_owed(&process->account, EVENT_DRIVER_ALLOC, 1);
}

void driver_free(struct state_process *process, const struct event *event, int64_t ns)
{
    struct driver *driver = driver_of(process);
    unsigned kind = event->a & 0xff;
    if (!kind || kind >= DRIVER_MEMORY_COUNT) {
        note(&process->account, NOTE_UNKNOWN_EVENT, event->addr, "memory of kind %u", kind);
        return;
    }
    if (!driver) {
        note_owed(&process->account, EVENT_DRIVER_FREE, 1);
        return;
    }
    struct driver_piece *piece = named(driver, kind, event->addr);
    if (piece)
        let_go(process, piece, ns);
    else if (kind != DRIVER_PHYSICAL || map_remove(&driver->again, event->addr) == MAP_NONE)
        driver->unknown_frees++;
}

/* ---- mappings ---- */

static bool put_mapping(struct state_process *process, const struct heap_device *device,
                        const struct event *event, const struct driver_piece *piece, int64_t mapped,
                        int64_t ns)
{
    return batch_put(process->state->ledger.batch, SCH_DRIVER_MAPPING, "iiniinii",
                     process->state->ledger.seq, process->account.id,
                     device ? device->id : BATCH_NULL, (int64_t)event->addr, heap_cut(event->size),
                     piece ? piece->seq : BATCH_NULL, ns, mapped);
}

static bool put_range(struct driver *driver, const struct driver_range *like)
{
    struct driver_range *range = mem_alloc(1, sizeof *range);
    if (!range)
        return false;
    *range = *like;
    if (order_put(&driver->mapped, range->address, (uintptr_t)range))
        return true;
    mem_free(range);
    return false;
}

/* Its handle may be given back once more: by those who had asked for the handle of an address. */
static void end_unmapped(struct state_process *process, struct driver_piece *piece, int64_t ns)
{
    struct map *again = &process->driver->again;
    if (again->count >= DRIVER_RELEASED)
        map_clear(again);
    if (piece->kind == DRIVER_PHYSICAL)
        map_put(again, piece->address, 1, NULL);
    end_piece(process, piece, ns);
}

/* Returns the bytes that the range loses. Without memory for what is left behind the hole, that is
 * forgotten, too. */
static int64_t cut(struct state_process *process, struct driver_range *range, uint64_t begin,
                   uint64_t end, int64_t ns)
{
    struct driver *driver = process->driver;
    struct driver_piece *piece = range->memory;
    uint64_t from = range->address > begin ? range->address : begin;
    uint64_t last = range->address + (uint64_t)range->size, to = last < end ? last : end;
    struct driver_range rest = *range;
    int64_t taken = (int64_t)(to - from), lost = taken;
    rest.address = to;
    rest.size = (int64_t)(last - to);
    if (rest.size && !put_range(driver, &rest)) {
        note_owed(&process->account, EVENT_DRIVER_MAP, 1);
        lost += rest.size;
        to = last;
    }
    driver_disown_range(range, from, to, ns);
    if (from > range->address) {
        range->size = (int64_t)(from - range->address);
    } else {
        order_remove(&driver->mapped, range->address);
        mem_free(range);
    }
    if (piece) {
        piece->mapped -= lost;
        if (piece->released && !piece->mapped)
            end_unmapped(process, piece, ns);
    }
    return taken;
}

static int64_t take_out(struct state_process *process, uint64_t begin, uint64_t end, int64_t ns)
{
    int64_t taken = 0;
    struct driver_range *range;
    while (begin < end && (range = driver_range_in(process->driver, begin, end))) {
        int64_t bytes = cut(process, range, begin, end, ns);
        taken = bytes > INT64_MAX - taken ? INT64_MAX : taken + bytes;
    }
    return taken;
}

void driver_map(struct state_process *process, const struct event *event, int64_t ns)
{
    struct driver *driver = driver_of(process);
    struct heap_device *device;
    if (!driver || !device_of(process, event, &device)) {
        note_owed(&process->account, EVENT_DRIVER_MAP, 1);
        return;
    }
    uint64_t end = driver_end_at(event->addr, event->size);
    int64_t twice = take_out(process, event->addr, end, ns);
    if (twice)
        note(&process->account, NOTE_DRIVER_TWICE, event->addr, "%lld bytes were mapped",
             (long long)twice);
    struct driver_piece *piece = named(driver, DRIVER_PHYSICAL, event->b);
    struct driver_range range = {.address = event->addr,
                                 .size = ledger_cut(end - event->addr),
                                 .seq = process->state->ledger.seq,
                                 .ns = ns,
                                 .device = device,
                                 .memory = piece};
    if (piece && range.size > INT64_MAX - piece->mapped)
        range.size = INT64_MAX - piece->mapped;
    if (!put_mapping(process, device, event, piece, 1, ns))
        note_owed(&process->account, OWED_FACT, 1);
    if (!range.size)
        return;
    if (!put_range(driver, &range))
        note_owed(&process->account, EVENT_DRIVER_MAP, 1);
    else if (piece)
        piece->mapped += range.size;
}

void driver_unmap(struct state_process *process, const struct event *event, int64_t ns)
{
    struct driver *driver = driver_of(process);
    struct heap_device *device;
    if (!driver || !device_of(process, event, &device)) {
        note_owed(&process->account, EVENT_DRIVER_UNMAP, 1);
        return;
    }
    if (!put_mapping(process, device, event, NULL, 0, ns))
        note_owed(&process->account, OWED_FACT, 1);
    uint64_t end = driver_end_at(event->addr, event->size);
    if (take_out(process, event->addr, end, ns) < ledger_cut(event->size))
        driver->unknown_unmaps++;
}
