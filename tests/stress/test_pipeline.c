/*
 * The whole way in one process, for the sanitizers: threads report through the guest into a ring,
 * the main thread drains it into the heap state, a queue carries the batches to a thread that
 * counts rows.
 */
#include <pthread.h>
#include <unistd.h>

#include "arena.h"
#include "clock.h"
#include "guest.h"
#include "queue.h"
#include "ring.h"
#include "state.h"
#include "test.h"
#define TIDEMARK_NO_CLIENT
#include "tidemark.h"

/* The ring has room for all events: where the machine lets the drain stand still for longer than a
 * producer waits, events are dropped, as they should be. */
enum { THREADS = 16, PAIRS = 4000, BITS = 18, ARENA = 1 << 20, TAKE = 1024 };

static const struct tidemark_api *api;
static _Atomic int running;

static void *report_pairs(void *argument)
{
    uint64_t number = (uint64_t)(uintptr_t)argument;
    struct tidemark_heap_desc desc = {.size = sizeof desc, .name = "pairs"};
    tidemark_heap_t heap = api->heap_open(&desc);
    for (uint64_t i = 0; i < PAIRS; i++) {
        struct tidemark_block block = {.size = sizeof block, .heap = heap, .bytes = 512};
        block.address = (const void *)(uintptr_t)((number + 1) << 32 | (i % 16) << 12);
        block.site = api->site("report_pairs", "test_pipeline.c", (uint32_t)(i % 100));
        if (i % 100 == 0)
            api->phase_begin("hundred");
        api->block_alloc(&block);
        api->block_free(heap, block.address);
        if (i % 100 == 99)
            api->phase_end("hundred");
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* The writer's place: counts what a database would hold. */
struct counter {
    struct queue *queue;
    uint64_t inserted, completed, ends, phases;
};

static void *count_rows(void *argument)
{
    struct counter *counter = argument;
    bool closed = false;
    struct batch *batch;
    while ((batch = queue_pop(counter->queue, 100, &closed)) || !closed) {
        if (!batch)
            continue;
        counter->inserted += batch->alloc_count;
        counter->ends += batch->end_count;
        for (size_t i = 0; i < batch->alloc_count; i++)
            counter->completed += batch->allocs[i].free_seq != DB_LIVING_SEQ;
        for (size_t i = 0; i < batch->fact_count; i++)
            counter->phases += batch->facts[i].statement == SCH_PHASE;
        batch_free(batch);
    }
    return NULL;
}

struct pipeline {
    struct ring_shared *ring;
    struct ring_reader reader;
    struct arena_reader arena;
    struct state *state;
    struct state_process *process;
    struct queue *queue;
};

static void define_new(struct pipeline *pipe)
{
    struct arena_record record;
    const void *payload;
    int got;
    while ((got = arena_next(&pipe->arena, &record, &payload)) == 1)
        state_define(pipe->process, &record, payload);
    CHECK_INT(got, 0);
}

static size_t drain_once(struct pipeline *pipe)
{
    static struct event out[TAKE];
    struct ring_torn torn[1];
    size_t torn_n;
    size_t n = ring_reader_take(&pipe->reader, out, TAKE, clock_now_ns(), false, torn, 1, &torn_n);
    CHECK_INT(torn_n, 0);
    define_new(pipe);
    for (size_t i = 0; i < n; i++)
        state_event(pipe->process, &out[i]);
    ring_reader_release(&pipe->reader);
    if (state_wants_flush(pipe->state)) {
        struct batch *batch = state_flush(pipe->state, clock_now_ns(), false);
        REQUIRE(batch && queue_push(pipe->queue, batch));
    }
    return n;
}

static void open_pipeline(struct pipeline *pipe)
{
    struct state_options options = {
        .start_ns = clock_now_ns(), .flush_allocs = 500, .keyframe_events = 1000};
    struct state_hello hello = {.pid = getpid(),
                                .parent = BATCH_NULL,
                                .origin = "root",
                                .at_ns = options.start_ns,
                                .rank = BATCH_NULL,
                                .local_rank = BATCH_NULL,
                                .world_size = BATCH_NULL};
    REQUIRE(ring_create(&pipe->ring, BITS, ARENA, RING_NO_FD) == 0);
    ring_reader_init(&pipe->reader, pipe->ring);
    arena_reader_init(&pipe->arena, pipe->ring);
    REQUIRE(state_new(&pipe->state, &options) == 0);
    pipe->process = state_process_begin(pipe->state, &hello);
    REQUIRE(pipe->process != NULL);
    REQUIRE(queue_new(&pipe->queue, 1 << 20) == 0);
    guest_use_ring(pipe->ring);
    api = tidemark_attach(TIDEMARK_API_VERSION);
    REQUIRE(api != NULL);
}

static void close_pipeline(struct pipeline *pipe)
{
    struct state_end end = {clock_now_ns(), "exit", 0, BATCH_NULL};
    state_process_end(pipe->process, &end);
    struct batch *batch = state_flush(pipe->state, clock_now_ns(), true);
    REQUIRE(batch && queue_push(pipe->queue, batch));
    queue_close(pipe->queue);
}

TEST(sixteen_threads_lose_nothing)
{
    struct pipeline pipe = {0};
    pthread_t threads[THREADS], writer;
    open_pipeline(&pipe);
    struct counter counter = {.queue = pipe.queue};
    REQUIRE(pthread_create(&writer, NULL, count_rows, &counter) == 0);
    atomic_store(&running, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, report_pairs, (void *)i) == 0);
    while (drain_once(&pipe) || atomic_load(&running))
        usleep(100);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    while (drain_once(&pipe))
        continue;
    struct state_totals totals;
    state_totals(pipe.state, &totals);
    CHECK(state_is_valid(pipe.state));
    CHECK_INT(totals.allocs, (uint64_t)THREADS * PAIRS);
    CHECK_INT(totals.frees, (uint64_t)THREADS * PAIRS);
    CHECK_INT(totals.living, 0);
    CHECK_INT(totals.allocated, 0);
    CHECK_INT(totals.lost, 0);
    CHECK_INT(totals.anomalies, 0);
    CHECK_INT(atomic_load(&pipe.ring->drops_begun), 0);
    close_pipeline(&pipe);
    pthread_join(writer, NULL);
    CHECK_INT(counter.inserted, (uint64_t)THREADS * PAIRS);
    CHECK_INT(counter.completed + counter.ends, (uint64_t)THREADS * PAIRS);
    CHECK(counter.phases >= (uint64_t)THREADS * PAIRS / 100);
    state_free(pipe.state);
    queue_free(pipe.queue);
    ring_destroy(pipe.ring, BITS, ARENA);
}

TEST_MAIN(TEST_CASE(sixteen_threads_lose_nothing))
