/*
 * probe.c - a library that a Python program loads with ctypes: it records the program into a ring
 * of its own and gives back what was recorded. Through ctypes.CDLL a call lets go of the GIL,
 * through ctypes.PyDLL it keeps it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "guest.h"
#include "intern.h"
#include "pyframes.h"
#include "pyframes_life.h"
#include "pyframes_lines.h"
#include "pyframes_table.h"
#include "pyframes_text.h"
#include "ring.h"
#include "ticks.h"
#define TIDEMARK_NO_CLIENT
#include "tidemark.h"

#define EXPORT __attribute__((visibility("default")))

enum { BITS = 16, ARENA = 64 << 20, MOST = 1 << 20 };

/* Where each definition stands, as far as the arena was read. Not every Python has a GIL. */
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct arena_reader reader;
    const void *payload[MOST];
    struct arena_record record[MOST];
} seen;

EXPORT int probe_begin(void);
EXPORT int probe_begin_child(void);
EXPORT uint32_t probe_site(void);
EXPORT int probe_read(uint32_t site, char *out, int size);
EXPORT const char *probe_why_not(void);
EXPORT uint32_t probe_compared(void);
EXPORT uint64_t probe_stacks(void);
EXPORT int probe_is_valid(void);
EXPORT int probe_lines(const void *code, uint32_t *out, int units);
EXPORT int probe_text(const void *object, char *out, int room);
EXPORT void probe_loop(double seconds, uint64_t *captured);
EXPORT void probe_slow_captures(void);
EXPORT void probe_hold_lock(double seconds, int *held);
EXPORT int probe_wrong(int field, int delta);
EXPORT int probe_modules_begin(const void *forward, const void *call, const void *engine,
                               const void *first);
EXPORT int probe_module(uint64_t object, uint32_t number);
EXPORT uint64_t probe_here(void);
EXPORT uint32_t probe_unknown(void);
EXPORT void probe_misplace(int field, int delta);
EXPORT double probe_ns(int count);
EXPORT double probe_hook_ns(int count);
EXPORT double probe_floor_ns(int count);

int probe_begin(void)
{
    struct ring_shared *ring = NULL;
    if (ring_create(&ring, BITS, ARENA, RING_NO_FD) != 0)
        return -1;
    guest_use_ring(ring);
    arena_reader_init(&seen.reader, ring);
    return 0;
}

/* What guest.c does in a forked child. */
int probe_begin_child(void)
{
    static struct ring child;
    struct ring_shared *ring = NULL;
    if (ring_create(&ring, BITS, ARENA, RING_NO_FD) != 0)
        return -1;
    ring_use(&child, ring);
    arena_inherit(&child.arena, &guest.ring->arena);
    child.generation = atomic_load(&guest.generation) + 1;
    guest.ring = &child;
    atomic_store(&guest.generation, child.generation);
    arena_reader_init(&seen.reader, ring);
    return 0;
}

uint32_t probe_site(void)
{
    return pyframes_site();
}

static int find(uint32_t number, enum arena_kind kind)
{
    while (seen.reader.number < MOST - 1) {
        struct arena_record record;
        const void *payload;
        if (arena_next(&seen.reader, &record, &payload) != 1)
            break;
        seen.record[seen.reader.number] = record;
        seen.payload[seen.reader.number] = payload;
    }
    return number && number <= seen.reader.number && seen.record[number].kind == (uint32_t)kind;
}

static int put_string(uint32_t number, char *out, int room)
{
    if (!find(number, ARENA_STRING) || (int)seen.record[number].bytes >= room)
        return -1;
    memcpy(out, seen.payload[number], seen.record[number].bytes);
    return (int)seen.record[number].bytes;
}

static int read_site(uint32_t site, char *out, int size)
{
    int used = 0;
    if (!find(site, ARENA_SITE))
        return -1;
    for (uint32_t i = 0; i < seen.record[site].bytes / 4; i++) {
        uint32_t number = ((const uint32_t *)seen.payload[site])[i];
        if (!find(number, ARENA_FRAME))
            return -1;
        const struct arena_frame *frame = seen.payload[number];
        int name = put_string(frame->function, out + used, size - used);
        if (name < 0)
            return -1;
        used += name;
        out[used++] = '\n';
        int file = put_string(frame->file, out + used, size - used);
        if (file < 0)
            return -1;
        used += file;
        if (size - used < 16)
            return -1;
        used += snprintf(out + used, 16, "\n%u\n", frame->line);
    }
    return used;
}

/* Writes "function NEWLINE file NEWLINE line NEWLINE" for each frame; returns the bytes. */
int probe_read(uint32_t site, char *out, int size)
{
    pthread_mutex_lock(&seen_lock);
    int used = read_site(site, out, size);
    pthread_mutex_unlock(&seen_lock);
    return used;
}

const char *probe_why_not(void)
{
    return pyframes_why_not();
}

uint32_t probe_compared(void)
{
    return atomic_load(&pyframes.compared);
}

uint64_t probe_stacks(void)
{
    return pyframes_table_count();
}

int probe_is_valid(void)
{
    return pyframes_table_is_valid();
}

/* The line of each instruction of a code object. */
int probe_lines(const void *code, uint32_t *out, int units)
{
    const struct pyframes_layout *layout = &pyframes.python.layout;
    if (!pyframes_start())
        return -1;
    const void *table = pyframes_pointer(code, layout->line_table);
    struct pyframes_line_table view = {
        (const uint8_t *)table + pyframes_part(layout, PY_BYTES_DATA),
        pyframes_size_of(layout, table), pyframes_int(code, layout->first_line)};
    for (int i = 0; i < units; i++)
        out[i] = pyframes_line(layout->lines, &view, 2 * (int64_t)i);
    return units;
}

int probe_text(const void *object, char *out, int room)
{
    if (!pyframes_start() || !pyframes_is_text(&pyframes.python.layout, object))
        return -1;
    return (int)pyframes_text(&pyframes.python.layout, object, out, (size_t)room);
}

/* Captures without pause; *captured counts the stacks. */
void probe_loop(double seconds, uint64_t *captured)
{
    uint64_t end = clock_now_ns() + (uint64_t)(seconds * 1e9);
    while (clock_now_ns() < end)
        for (int i = 0; i < 100; i++)
            *captured += pyframes_site() != 0;
}

/* Captures that are preempted in the middle, until captures end. Does not return then: Python 3.12
 * itself can crash in a daemon thread that comes back from C while the interpreter is finalized. */
void probe_slow_captures(void)
{
    static struct pyframes_stack stack;
    const struct timespec pause = {0, 5 * (long)NS_PER_MS};
    pyframes_site();
    while (pyframes_enter()) {
        const void *state = pyframes.python.this_state();
        nanosleep(&pause, NULL);
        pyframes_walk(&pyframes.python.layout, state, &stack);
        pyframes_leave();
    }
    for (;;)
        nanosleep(&pause, NULL);
}

void probe_hold_lock(double seconds, int *held)
{
    const struct timespec pause = {0, (long)(seconds * 1e9)};
    *held = pyframes_lock();
    nanosleep(&pause, NULL);
    if (*held)
        pyframes_unlock();
}

/* Reads this stack carefully with one offset of the layout that is wrong. -1: refused; 0: it gave
 * other frames; 1: the same; -2: no such field. */
int probe_wrong(int field, int delta)
{
    static struct pyframes_frame right[ARENA_MAX_DEPTH], got[ARENA_MAX_DEPTH];
    const size_t first = offsetof(struct pyframes_layout, first);
    const size_t end = offsetof(struct pyframes_layout, compact_data) + sizeof(uint16_t);
    struct pyframes_python wrong = pyframes.python;
    const char *why = NULL;
    uint16_t value;
    size_t at = first + (size_t)field * sizeof value;
    if (at >= offsetof(struct pyframes_layout, code_tag))
        at += sizeof(uint64_t);
    if (at >= end)
        return -2;
    char *place = (char *)&wrong.layout + at;
    memcpy(&value, place, sizeof value);
    value = (uint16_t)(value + delta);
    memcpy(place, &value, sizeof value);
    const void *state = pyframes.python.this_state();
    int count = pyframes_read(&pyframes.python, state, right, true, &why);
    int read = pyframes_read(&wrong, state, got, true, &why);
    if (read < 0)
        return -1;
    bool same = read == count;
    for (int i = 0; same && i < count; i++)
        same = right[i].code == got[i].code && right[i].line == got[i].line;
    return same;
}

int probe_modules_begin(const void *forward, const void *call, const void *engine,
                        const void *first)
{
    struct pymodules_marks by = {forward, call, engine};
    return pyframes_start() && pymodules_begin(&by, first);
}

/* 0: takes the object out. */
int probe_module(uint64_t object, uint32_t number)
{
    if (number)
        return pymodules_put(object, number);
    pymodules_drop(object);
    return 1;
}

/* The module that runs, and in bit 32 whether the engine stands above all. */
uint64_t probe_here(void)
{
    struct pyframes_here here;
    pyframes_look(&here);
    return here.module.module | (uint64_t)here.module.in_engine << 32;
}

uint32_t probe_unknown(void)
{
    return atomic_load(pymodules_unknown());
}

/* Where arguments stand, as another build of the interpreter might have it. */
void probe_misplace(int field, int delta)
{
    struct pyframes_layout *layout = &pyframes.python.layout;
    uint16_t *const fields[] = {&layout->locals, &layout->local_count, &layout->cell_names,
                                &layout->cell_arguments};
    *fields[field] = (uint16_t)(*fields[field] + delta);
}

double probe_ns(int count)
{
    uint64_t start = clock_now_ns();
    for (int i = 0; i < count; i++)
        pyframes_site();
    return (double)(clock_now_ns() - start) / count;
}

/* As the recorder does. */
static void tell_time(struct ring_shared *ring)
{
    static struct ticks ticks;
    static bool begun;
    if (!begun)
        ticks_begin(&ticks);
    begun = true;
    for (int i = 0; i < 30 && ticks.works && !ticks.rate; i++) {
        ticks_look(&ticks, clock_now_ns());
        usleep(1000);
    }
    ticks_look(&ticks, clock_now_ns());
    ticks_tell(&ticks, &ring->clock);
}

/* A reported block with its stack: what a source does for each allocation. */
double probe_hook_ns(int count)
{
    static struct ring_reader reader;
    static struct event out[1 << 12];
    struct ring_torn torn[1];
    size_t torn_n;
    const struct tidemark_api *api = tidemark_attach(TIDEMARK_API_VERSION);
    struct tidemark_heap_desc desc = {.size = sizeof desc, .name = "bench"};
    struct tidemark_block block = {.size = sizeof block, .bytes = 4096};
    if (!api || count >= 1 << BITS)
        return -1;
    if (!reader.ring)
        ring_reader_init(&reader, guest.ring->shared);
    block.heap = api->heap_open(&desc);
    tell_time(reader.ring);
    uint64_t start = clock_now_ns();
    for (int i = 0; i < count; i++) {
        block.address = (void *)(uintptr_t)(0x7f0000000000ull + (uint64_t)i * 4096);
        block.site = pyframes_site();
        api->block_alloc(&block);
    }
    double each = (double)(clock_now_ns() - start) / count;
    while (ring_reader_take(&reader, out, 1 << 12, clock_now_ns(), false, torn, 1, &torn_n))
        ring_reader_release(&reader);
    return each;
}

/* The clock and 64 bytes stored, beside which the others are reported. */
double probe_floor_ns(int count)
{
    static struct event lines[1 << BITS];
    uint64_t start = clock_now_ns();
    for (int i = 0; i < count; i++) {
        volatile uint64_t *to = (volatile uint64_t *)&lines[i & ((1 << BITS) - 1)];
        uint64_t now = clock_now_ns();
        for (int word = 0; word < 8; word++)
            to[word] = now;
    }
    return (double)(clock_now_ns() - start) / count;
}
