#include "feed.h"

#include <string.h>

#include "test.h"

struct state *feed_state(uint64_t keyframe_events)
{
    struct state *state = NULL;
    struct state_options options = {.start_ns = FEED_START, .keyframe_events = keyframe_events};
    REQUIRE(state_new(&state, &options) == 0);
    return state;
}

void feed_begin(struct feed *feed, struct state *state, struct rows *rows)
{
    static struct rows own;
    *feed = (struct feed){.state = state ? state : feed_state(0),
                          .rows = rows ? rows : &own,
                          .now = FEED_START,
                          .thread = 100};
    struct state_hello hello = {.pid = 4711,
                                .parent = BATCH_NULL,
                                .origin = "root",
                                .at_ns = feed->now,
                                .rank = BATCH_NULL,
                                .local_rank = BATCH_NULL,
                                .world_size = BATCH_NULL};
    feed->process = state_process_begin(feed->state, &hello);
    REQUIRE(feed->process != NULL);
}

void feed_flush(struct feed *feed)
{
    CHECK(state_is_valid(feed->state));
    struct batch *batch = state_flush(feed->state, feed->now, true);
    REQUIRE(batch != NULL);
    rows_apply(feed->rows, batch);
    batch_free(batch);
    CHECK(state_is_valid(feed->state));
}

void feed_end(struct feed *feed, bool state_too)
{
    struct state_end end = {
        .at_ns = feed->now, .ended = "exit", .exit_code = 0, .signal = BATCH_NULL};
    state_process_end(feed->process, &end);
    feed->process = NULL;
    feed_flush(feed);
    if (state_too)
        state_free(feed->state);
}

uint32_t feed_define(struct feed *feed, uint32_t kind, const void *payload, size_t bytes)
{
    struct arena_record record = {.bytes = (uint32_t)bytes, .kind = kind};
    state_define(feed->process, &record, payload);
    return ++feed->definitions;
}

uint32_t feed_string(struct feed *feed, const char *text)
{
    return feed_define(feed, ARENA_STRING, text, strlen(text));
}

uint32_t feed_site(struct feed *feed, const char *function, uint32_t line)
{
    struct arena_frame frame = {.function = feed_string(feed, function), .line = line};
    frame.file = feed_string(feed, "main.c");
    uint32_t number = feed_define(feed, ARENA_FRAME, &frame, sizeof frame);
    return feed_define(feed, ARENA_SITE, &number, sizeof number);
}

uint32_t feed_heap(struct feed *feed, int32_t kind, int32_t index, uint64_t stream)
{
    struct arena_heap heap = {.device_kind = kind, .device_index = index, .stream = stream};
    return feed_define(feed, ARENA_HEAP, &heap, sizeof heap);
}

int64_t feed_event(struct feed *feed, struct event event)
{
    event.time_ns = feed->now += 10;
    event.thread = feed->thread & 0xffffff;
    return state_event(feed->process, &event);
}

int64_t feed_alloc(struct feed *feed, uint32_t heap, uint64_t address, uint64_t size)
{
    return feed_event(feed, (struct event){.kind = EVENT_BLOCK_ALLOC,
                                           .heap = heap & 0xffffff,
                                           .addr = address,
                                           .size = size});
}

int64_t feed_free(struct feed *feed, uint32_t heap, uint64_t address)
{
    return feed_event(
        feed, (struct event){.kind = EVENT_BLOCK_FREE, .heap = heap & 0xffffff, .addr = address});
}

int64_t feed_phase(struct feed *feed, uint32_t name)
{
    return feed_event(feed, (struct event){.kind = EVENT_PHASE_BEGIN, .name = name});
}

int64_t feed_phase_end(struct feed *feed, uint32_t name)
{
    return feed_event(feed, (struct event){.kind = EVENT_PHASE_END, .name = name});
}

int64_t feed_step(struct feed *feed, uint64_t number)
{
    return feed_event(feed, (struct event){.kind = EVENT_STEP_BEGIN, .a = number});
}
