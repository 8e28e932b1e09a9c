/*
 * A program that writes anything, at any time, into the mapping that it shares with the recorder:
 * header, slots and definitions. The recorder reads it by recorder/run/drain_ring.c, as the drain
 * does; nothing of that may touch memory outside of the mapping or run for ever, and what was read
 * is fed into a heap state that stays valid and whose rows can be written.
 *
 * The mapping is followed and led by pages that cannot be touched. The first byte says whether rows
 * are stored; then come operations.
 */
#include <stddef.h>
#include <sys/mman.h>

#include "arena.h"
#include "drain_ring.h"
#include "error.h"
#include "fuzz.h"
#include "ring.h"
#include "world.h"

#define BITS RING_MIN_BITS
#define SLOTS (1u << BITS)
#define ARENA_BYTES 8192u
#define MOST_OPERATIONS 2000
#define STEPS_TO_END 64

struct run {
    struct world world;
    struct fuzz_input input;
    struct ring_shared *shared;
    struct ring_shared plan; /* as it was made */
    struct drain_ring drain;
    struct state_process *process;
    uint64_t now_ns;
    uint64_t next; /* ticket of a well-behaved producer */
    uint64_t used; /* of the arena, likewise */
    bool dead;
};

/* ---- the program ---- */

static void scribble(struct run *run)
{
    uint64_t at = fuzz_number(&run->input, 2) * 4 % run->plan.map_bytes;
    size_t bytes = (fuzz_byte(&run->input) & 63) + 1u;
    const uint8_t *from = fuzz_bytes(&run->input, &bytes);
    if (bytes > run->plan.map_bytes - at)
        bytes = run->plan.map_bytes - at;
    memcpy((char *)run->shared + at, from, bytes);
}

static uint64_t odd_number(struct run *run)
{
    uint8_t byte = fuzz_byte(&run->input);
    if (byte < 128)
        return byte;
    return byte < 192 ? 1ull << (byte & 63) : UINT64_MAX - (byte & 63);
}

static void scribble_header(struct run *run)
{
    size_t word = fuzz_byte(&run->input) % (sizeof *run->shared / 8);
    uint64_t value = odd_number(run);
    memcpy((char *)run->shared + word * 8, &value, sizeof value);
}

static struct event *slot_of(struct run *run, uint64_t ticket)
{
    return (struct event *)((char *)run->shared + run->plan.slots_offset) + ticket % SLOTS;
}

static void push(struct run *run)
{
    uint8_t kind = fuzz_byte(&run->input), who = fuzz_byte(&run->input);
    struct event event = {.word = run->next + 1,
                          .time_ns = run->now_ns + odd_number(run),
                          .kind = kind & 31,
                          .flags = fuzz_byte(&run->input),
                          .thread = who & 3,
                          .heap = who >> 2 & 3,
                          .site = who >> 4 & 3,
                          .name = who >> 6,
                          .addr = odd_number(run),
                          .size = odd_number(run),
                          .a = odd_number(run),
                          .b = odd_number(run)};
    memcpy(slot_of(run, run->next++), &event, sizeof event);
    atomic_store(&run->shared->head, run->next);
}

/* A ticket that is taken and not published; or whatever stands in its slot's word. */
static void leave_hole(struct run *run)
{
    uint8_t how = fuzz_byte(&run->input);
    uint64_t ticket = run->next + 1;
    if (how & 1)
        slot_of(run, run->next)->word = how & 2 ? RING_LATE | ticket : RING_FENCED | ticket;
    run->next += how & 4 ? 2 : 1;
    atomic_store(&run->shared->head, run->next);
}

static void define(struct run *run)
{
    struct arena_record record = {.kind = fuzz_byte(&run->input) % 6};
    size_t bytes = fuzz_byte(&run->input);
    const uint8_t *payload = fuzz_bytes(&run->input, &bytes);
    uint64_t need = sizeof record + ((bytes + 7) & ~7ull);
    if (need > run->plan.arena_bytes - run->used)
        return;
    char *at = (char *)run->shared + run->plan.arena_offset + run->used;
    record.bytes = (uint32_t)bytes;
    memcpy(at, &record, sizeof record);
    memcpy(at + sizeof record, payload, bytes);
    run->used += need;
    atomic_store(&run->shared->arena_used, run->used);
}

static void drop(struct run *run)
{
    atomic_store(&run->shared->drop_ticket, run->next);
    atomic_fetch_add(&run->shared->dropped[fuzz_byte(&run->input) % EVENT_KIND_SLOTS],
                     odd_number(run));
    atomic_store(&run->shared->mode, RING_DROPPING);
}

/* ---- the recorder ---- */

static bool step(struct run *run)
{
    static struct event buffer[DRAIN_TAKE];
    bool more = drain_ring_step(&run->drain, buffer, run->dead, run->now_ns);
    MUST(drain_ring_is_valid(&run->drain));
    MUST(run->drain.reader.tail - run->drain.reader.released <= SLOTS);
    drain_ring_see_full(&run->drain, state_batch(run->world.state), state_process_id(run->process));
    return more;
}

static void one_step(struct run *run)
{
    step(run);
}

static void pass_time(struct run *run)
{
    run->now_ns += fuzz_number(&run->input, 2) << 16;
}

static void flush(struct run *run)
{
    world_flush(&run->world, run->now_ns, fuzz_byte(&run->input) & 1);
}

static void look(struct run *run)
{
    uint8_t what = fuzz_byte(&run->input);
    MUST(ring_reader_backlog(&run->drain.reader) <= SLOTS);
    if (what & 1)
        ring_reader_beat(&run->drain.reader);
    if (what & 2)
        ring_close(run->shared);
    run->dead |= (what & 0xfc) == 0xfc;
}

static void (*const operations[])(struct run *run) = {
    scribble,  scribble_header, push, leave_hole, define, drop,     one_step,
    pass_time, flush,           look, push,       define, one_step,
};

/* ---- the mapping ---- */

static void make_ring(struct run *run)
{
    uint64_t bytes = ring_bytes(BITS, ARENA_BYTES), guard = 1 << 16;
    char *all = mmap(NULL, bytes + 2 * guard, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MUST(all != MAP_FAILED);
    run->shared = (struct ring_shared *)(void *)(all + guard);
    MUST(mprotect(run->shared, bytes, PROT_READ | PROT_WRITE) == 0);
    ring_lay_out(run->shared, BITS, ARENA_BYTES);
    atomic_store(&run->shared->limit, SLOTS);
    run->plan = *run->shared;
    MUST(run->plan.map_bytes == bytes);
}

static void unmap_ring(struct run *run)
{
    uint64_t bytes = ring_bytes(BITS, ARENA_BYTES), guard = 1 << 16;
    munmap((char *)run->shared - guard, bytes + 2 * guard);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct run run = {.input = {bytes, count}, .now_ns = WORLD_START};
    uint8_t mode = fuzz_byte(&run.input);
    struct state_options options = {.start_ns = WORLD_START};
    struct state_end end = {.ended = "exit", .exit_code = 0, .signal = BATCH_NULL};
    struct drain_source source;
    make_ring(&run);
    world_begin(&run.world, &options, mode & 1);
    run.process = world_process(&run.world, 4711, run.now_ns);
    drain_source_init(&source, run.shared);
    for (int i = mode & 4 ? fuzz_byte(&run.input) & 7 : 0; i > 0; i--)
        scribble_header(&run); /* before the drain hears of the ring */
    drain_ring_init(&run.drain, run.process, &source, WORLD_START, run.now_ns);
    for (int i = 0; run.input.left && i < MOST_OPERATIONS; i++)
        operations[fuzz_byte(&run.input) % (sizeof operations / sizeof *operations)](&run);
    run.dead = true;
    for (int i = 0; step(&run); i++)
        MUST(i < STEPS_TO_END);
    MUST(drain_ring_is_empty(&run.drain));
    drain_ring_finish(&run.drain, state_batch(run.world.state), state_process_id(run.process));
    end.at_ns = run.now_ns;
    state_process_end(run.process, &end);
    world_end(&run.world, run.now_ns, mode & 2);
    unmap_ring(&run);
    return 0;
}
