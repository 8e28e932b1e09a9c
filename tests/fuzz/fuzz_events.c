/*
 * Definitions and events of any kind into the heap state, of up to four processes: what it holds
 * stays valid, each row that comes of it can be written, each view over those rows be read.
 *
 * The first byte says what is done with the rows. Then one byte for each operation, and its
 * numbers; see `operations` below. Compact forms make definitions and events that name each other,
 * raw ones take all 64 bytes from the input.
 */
#include "arena.h"
#include "error.h"
#include "event.h"
#include "fuzz.h"
#include "world.h"

#define MOST_OPERATIONS 4000
#define PROCESSES 4u
#define MOST_TIME_NS (1ull << 40) /* goes by at once */

enum { STORES = 1, LOOKS = 2, SMALL_BATCHES = 4, KEYFRAMES = 8, KEEPS_STEPS = 16, LIMITS = 32 };

struct run {
    struct world world;
    struct fuzz_input input;
    struct state_process *processes[PROCESSES]; /* NULL: not begun, or ended */
    unsigned now_at;                            /* the process of the next operation */
    uint64_t now_ns;
};

static struct state_process *process_of(struct run *run)
{
    struct state_process **process = &run->processes[run->now_at];
    if (!*process)
        *process = world_process(&run->world, 100 + run->now_at, run->now_ns);
    return *process;
}

/* ---- definitions ---- */

static void define(struct run *run, uint32_t kind, const void *payload, size_t bytes)
{
    struct arena_record record = {(uint32_t)bytes, kind};
    state_define(process_of(run), &record, payload);
}

static void define_raw(struct run *run)
{
    uint32_t kind = fuzz_byte(&run->input);
    size_t bytes = fuzz_byte(&run->input);
    const uint8_t *payload = fuzz_bytes(&run->input, &bytes);
    define(run, kind & 128 ? kind : kind % ARENA_KIND_COUNT, payload, bytes);
}

static void define_string(struct run *run)
{
    size_t bytes = fuzz_byte(&run->input) & 31;
    const uint8_t *payload = fuzz_bytes(&run->input, &bytes);
    define(run, ARENA_STRING, payload, bytes);
}

static void define_frame(struct run *run)
{
    struct arena_frame frame = {.function = fuzz_byte(&run->input),
                                .file = fuzz_byte(&run->input),
                                .line = fuzz_byte(&run->input)};
    define(run, ARENA_FRAME, &frame, sizeof frame);
}

static void define_site(struct run *run)
{
    uint32_t frames[8];
    size_t depth = (fuzz_byte(&run->input) & 7) + 1u;
    for (size_t i = 0; i < depth; i++)
        frames[i] = fuzz_byte(&run->input);
    define(run, ARENA_SITE, frames, depth * sizeof *frames);
}

static void define_heap(struct run *run)
{
    uint8_t shape = fuzz_byte(&run->input);
    struct arena_heap heap = {.device_kind = shape & 3,
                              .device_index = (shape >> 2 & 3) - 1,
                              .stream = shape >> 4 & 3,
                              .pool = shape >> 6 & 3,
                              .name = fuzz_byte(&run->input)};
    define(run, ARENA_HEAP, &heap, sizeof heap);
}

/* ---- events ---- */

static void feed(struct run *run, const struct event *event)
{
    int64_t before = state_seq(run->world.state);
    bool numbered = event->kind != EVENT_SAMPLE || event->heap != 0;
    int64_t seq = state_event(process_of(run), event);
    MUST(numbered ? seq > before : seq == before);
}

/* A byte that becomes a number of its own kind: small, in the middle, or from the edge. */
static uint64_t spread(struct run *run)
{
    uint8_t byte = fuzz_byte(&run->input);
    switch (byte >> 6) {
    case 0:
        return byte & 63;
    case 1:
        return (uint64_t)(byte & 63) << 9;
    case 2:
        return (uint64_t)1 << (byte & 63);
    default:
        return (byte & 32 ? (uint64_t)INT64_MAX : UINT64_MAX) - (byte & 31);
    }
}

static struct event compact(struct run *run, unsigned kind)
{
    struct event event = {.kind = kind & 31};
    uint8_t who = fuzz_byte(&run->input), what = fuzz_byte(&run->input);
    event.thread = 1 + (who & 3);
    event.heap = who >> 2 & 15;
    event.flags = what & 63; /* the others: range_event, raw_event */
    event.site = who >> 6 ? fuzz_byte(&run->input) : 0;
    event.name = what & 64 ? fuzz_byte(&run->input) : what >> 7;
    run->now_ns += what;
    event.time_ns = run->now_ns;
    return event;
}

/* One of few addresses, so that what lies in each other meets. */
static uint64_t on_grid(uint8_t where)
{
    return 0x10000u + ((uint64_t)(where >> 3) << 9);
}

/* Of blocks and the like: sizes that fit between those addresses. */
static void heap_event(struct run *run)
{
    struct event event = compact(run, fuzz_byte(&run->input));
    uint8_t where = fuzz_byte(&run->input);
    event.addr = on_grid(where);
    event.size = (uint64_t)(where & 7) << 9;
    event.a = event.b = event.size;
    feed(run, &event);
}

static void any_event(struct run *run)
{
    struct event event = compact(run, fuzz_byte(&run->input));
    event.addr = spread(run);
    event.size = spread(run);
    event.a = spread(run);
    event.b = spread(run);
    feed(run, &event);
}

/* Enough for pairs of lists, kinds and strings in one word. */
static void packed_event(struct run *run)
{
    struct event event = compact(run, fuzz_byte(&run->input));
    event.addr = spread(run);
    event.size = spread(run);
    event.a = fuzz_byte(&run->input) | (uint64_t)fuzz_byte(&run->input) << 32;
    event.b = fuzz_byte(&run->input) | (uint64_t)fuzz_byte(&run->input) << 32;
    feed(run, &event);
}

/* What the driver gave: by address, or by handle where that is how its kind is known. */
static void driver_event(struct run *run)
{
    uint8_t shape = fuzz_byte(&run->input);
    struct event event = compact(run, EVENT_DRIVER_ALLOC + (shape & 3));
    uint8_t where = fuzz_byte(&run->input), kind = shape >> 2 & 15;
    bool maps = event.kind == EVENT_DRIVER_MAP || event.kind == EVENT_DRIVER_UNMAP;
    bool handle = kind == DRIVER_PHYSICAL || kind == DRIVER_POOL || kind == DRIVER_ARRAY;
    event.addr = handle && !maps ? where & 7 : on_grid(where);
    event.size = shape & 64 ? spread(run) : (uint64_t)(where & 7) << 10;
    event.a = kind | (uint64_t)(shape & 128 ? fuzz_byte(&run->input) : 0) << 32;
    event.b = where >> 5;
    feed(run, &event);
}

/* Ranges and marks that come by way of NVTX. */
static void range_event(struct run *run)
{
    static const uint8_t kinds[] = {EVENT_PHASE_BEGIN, EVENT_PHASE_END, EVENT_MARK,
                                    EVENT_PHASE_BEGIN};
    uint8_t shape = fuzz_byte(&run->input);
    struct event event = compact(run, kinds[shape & 3]);
    event.flags = EVENT_F_DOMAIN | (shape & 4 ? EVENT_F_RANGE : 0) |
                  (shape & 8 ? EVENT_F_NUMBER : 0) | (shape & 16 ? EVENT_F_EXCEPTION : 0);
    event.addr = shape & 32 ? fuzz_byte(&run->input) : 0;
    event.size = shape & 64 ? spread(run) : shape >> 7;
    event.b = event.size & 3;
    feed(run, &event);
}

/* What is told of somewhere else: values from outside, gaps, what a device has done before. */
static void told_event(struct run *run)
{
    static const uint8_t kinds[] = {EVENT_SAMPLE, EVENT_GAP, EVENT_ACTIVITY, EVENT_ACTIVITY};
    uint8_t shape = fuzz_byte(&run->input);
    struct event event = compact(run, kinds[shape & 3]);
    uint64_t value = shape & 4 ? spread(run) : shape >> 3;
    event.a = value;
    if (event.kind == EVENT_GAP)
        event.a = shape >> 3 & 1;
    if (event.kind == EVENT_ACTIVITY) {
        event.a = (shape >> 3 & 7) | (uint64_t)(shape >> 6) << 8;
        event.addr = shape & 64 ? spread(run) : run->now_ns - value;
        event.size = event.b = value;
    }
    feed(run, &event);
}

/* Pages of the grid, mapped and taken out. */
static void map_event(struct run *run)
{
    struct event event = compact(run, EVENT_SEGMENT_ALLOC);
    uint8_t where = fuzz_byte(&run->input);
    event.kind = where & 1 ? EVENT_SEGMENT_ALLOC : EVENT_SEGMENT_FREE;
    event.flags |= EVENT_F_MAP;
    event.addr = on_grid(where);
    event.size = (uint64_t)(1 + (where >> 1 & 3)) << 10;
    feed(run, &event);
}

/* An allocator's own history of the blocks on the grid. */
static void history_event(struct run *run)
{
    struct event event = compact(run, EVENT_HISTORY);
    uint8_t what = fuzz_byte(&run->input), where = fuzz_byte(&run->input);
    event.addr = on_grid(where);
    event.size = (uint64_t)(where & 7) << 9;
    event.a = what & 128 ? 0 : run->now_ns - (what >> 3);
    event.b = what & 7 ? what & 7 : HISTORY_ACTION_COUNT;
    feed(run, &event);
}

/* Steps one after the other, each with a phase, a block that lives on and one that does not:
 * enough of them that some can be thinned out. */
static void some_steps(struct run *run)
{
    uint8_t shape = fuzz_byte(&run->input), number = fuzz_byte(&run->input);
    struct event event = compact(run, EVENT_STEP_BEGIN);
    for (unsigned i = 0; i < (shape & 31) + 1u; i++) {
        struct event block = event, step = event, phase = event;
        block.addr = on_grid((uint8_t)(i << 3));
        block.size = (uint64_t)(1 + (i & shape >> 5)) << 9;
        block.flags = phase.flags = 0;
        step.a = number + i;
        feed(run, &step);
        phase.kind = EVENT_PHASE_BEGIN;
        feed(run, &phase);
        block.kind = EVENT_BLOCK_ALLOC;
        feed(run, &block);
        block.addr += 1u << 20;
        feed(run, &block);
        run->now_ns += 1u << 16;
        block.time_ns = step.time_ns = phase.time_ns = event.time_ns = run->now_ns;
        block.kind = EVENT_BLOCK_FREE;
        feed(run, &block);
        phase.kind = EVENT_PHASE_END;
        feed(run, &phase);
        step.kind = EVENT_STEP_END;
        step.a = 0;
        feed(run, &step);
    }
}

static void raw_event(struct run *run)
{
    struct event event = {0};
    size_t bytes = sizeof event;
    const uint8_t *raw = fuzz_bytes(&run->input, &bytes);
    memcpy(&event, raw, bytes);
    if (event.time_ns > run->now_ns) /* the ring's reader sees to that */
        event.time_ns = run->now_ns;
    feed(run, &event);
}

/* ---- what befalls a process ---- */

static void lose(struct run *run)
{
    struct state_loss loss = {
        .first_seq = state_seq(run->world.state), .first_ns = run->now_ns, .last_ns = run->now_ns};
    loss.by_kind[fuzz_byte(&run->input) % EVENT_KIND_SLOTS] = spread(run);
    loss.late = spread(run);
    state_lost(process_of(run), &loss);
}

static void tear(struct run *run)
{
    state_torn(process_of(run), spread(run), run->now_ns, "timeout");
}

static void end_thread(struct run *run)
{
    uint32_t threads[4];
    struct state_process *process = process_of(run);
    size_t count = state_open_threads(process, threads, 4);
    uint8_t which = fuzz_byte(&run->input);
    state_thread_end(process, count ? threads[which % count] : which, run->now_ns);
}

static void end_process(struct run *run)
{
    struct state_end end = {
        .at_ns = run->now_ns, .ended = "exit", .exit_code = 0, .signal = BATCH_NULL};
    struct state_process **process = &run->processes[run->now_at];
    if (*process)
        state_process_end(*process, &end);
    *process = NULL;
}

static void switch_process(struct run *run)
{
    run->now_at = fuzz_byte(&run->input) % PROCESSES;
}

static void flush(struct run *run)
{
    world_flush(&run->world, run->now_ns, fuzz_byte(&run->input) & 1);
}

static void pass_time(struct run *run)
{
    run->now_ns += spread(run) % MOST_TIME_NS;
}

static void (*const operations[])(struct run *run) = {
    define_raw, define_string, define_frame, define_site,    define_heap,
    heap_event, any_event,     packed_event, raw_event,      lose,
    tear,       end_thread,    end_process,  switch_process, flush,
    pass_time,  heap_event,    heap_event,   any_event,      packed_event,
};

/* Of the upper bytes. */
static void (*const more_operations[])(struct run *run) = {
    driver_event, range_event, told_event,   history_event,
    some_steps,   map_event,   driver_event, range_event,
};

static void operate(struct run *run)
{
    unsigned count = sizeof operations / sizeof *operations;
    unsigned more = sizeof more_operations / sizeof *more_operations;
    uint8_t which = fuzz_byte(&run->input);
    if (which < 10 * count)
        operations[which % count](run);
    else
        more_operations[which % more](run);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    struct run run = {.input = {bytes, count}, .now_ns = WORLD_START};
    uint8_t mode = fuzz_byte(&run.input);
    struct state_options options = {.start_ns = WORLD_START,
                                    .keyframe_events = mode & KEYFRAMES ? 16 : 0,
                                    .flush_allocs = mode & SMALL_BATCHES ? 8 : 0};
    struct retention_options kept = {.keep_steps = mode & KEEPS_STEPS ? RETENTION_LEAST : 0,
                                     .max_bytes = mode & LIMITS ? 1 : 0};
    world_begin(&run.world, &options, mode & STORES);
    if (mode & STORES)
        world_retain(&run.world, &kept);
    for (int i = 0; run.input.left && i < MOST_OPERATIONS; i++) {
        operate(&run);
        if (i % 16 == 0)
            MUST(state_is_valid(run.world.state));
        if (state_wants_flush(run.world.state))
            world_flush(&run.world, run.now_ns, false);
    }
    for (run.now_at = 0; run.now_at < PROCESSES; run.now_at++)
        end_process(&run);
    world_end(&run.world, run.now_ns, mode & LOOKS);
    return 0;
}
