#include "drain_ring.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void drain_source_init(struct drain_source *source, struct ring_shared *shared)
{
    ring_reader_init(&source->reader, shared);
    arena_reader_init(&source->arena, shared);
    source->from = shared->arena_from;
    source->first = shared->arena_first;
}

void drain_ring_init(struct drain_ring *ring, struct state_process *process,
                     const struct drain_source *source, uint64_t start_ns, uint64_t begin_ns)
{
    assert(process && source->reader.ring);
    *ring = (struct drain_ring){.process = process,
                                .reader = source->reader,
                                .arena = source->arena,
                                .start_ns = start_ns,
                                .last_ns = begin_ns};
}

bool drain_ring_is_valid(const struct drain_ring *ring)
{
    if (!ring->process || !ring->reader.ring || ring->gap_count > DRAIN_GAPS)
        return false;
    for (unsigned i = 1; i < ring->gap_count; i++)
        if (ring->gaps[i].ticket <= ring->gaps[i - 1].ticket)
            return false;
    return true;
}

/* A ring that was handed over proves nothing: the program may not have been able to map it. */
static void see_life(struct drain_ring *ring)
{
    if (!ring->live)
        state_process_live(ring->process, NULL, NULL);
    ring->live = true;
    if (!ring->api && atomic_load_explicit(&ring->reader.ring->api, memory_order_relaxed)) {
        state_process_source(ring->process, "api");
        ring->api = true;
    }
}

/* An event names only definitions that were visible before it: after taking a batch, all that it
 * needs is there. */
void drain_ring_define(struct drain_ring *ring)
{
    struct arena_record record;
    const void *payload;
    int got = 0;
    if (ring->arena_damaged)
        return;
    while ((got = arena_next(&ring->arena, &record, &payload)) > 0) {
        see_life(ring);
        state_define(ring->process, &record, payload);
    }
    ring->arena_damaged = got < 0;
}

/* ---- losses ---- */

static void store_gap(struct drain_ring *ring, struct drain_gap *gap)
{
    gap->loss.last_ns = ring->last_ns;
    state_lost(ring->process, &gap->loss);
}

static void begin_gap(struct drain_ring *ring, uint64_t ticket)
{
    assert(ring->gap_count < DRAIN_GAPS);
    ring->gaps[ring->gap_count++] = (struct drain_gap){.ticket = ticket};
    ring->last_gap_ticket = ticket;
    ring->had_gap = true;
}

/* What the counters have gained since the last look. */
static void see_losses(struct drain_ring *ring)
{
    uint64_t lost[EVENT_KIND_SLOTS];
    uint64_t ticket = ring_reader_drop_ticket(&ring->reader);
    if (ring_reader_losses(&ring->reader, lost) == 0)
        return;
    bool is_new = !ring->had_gap || ticket > ring->last_gap_ticket;
    if (is_new && ring->gap_count < DRAIN_GAPS)
        begin_gap(ring, ticket);
    if (ring->gap_count > 0) {
        struct state_loss *loss = &ring->gaps[ring->gap_count - 1].loss;
        for (int kind = 0; kind < EVENT_KIND_SLOTS; kind++)
            loss->by_kind[kind] += lost[kind];
        return;
    }
    /* Counted a moment after its gap was stored: the same place. */
    struct state_loss loss = {.first_seq = ring->last_gap_seq, .first_ns = ring->last_gap_ns};
    loss.last_ns = ring->last_ns;
    memcpy(loss.by_kind, lost, sizeof lost);
    state_lost(ring->process, &loss);
}

static void note_gap_begin(struct drain_ring *ring, struct drain_gap *gap)
{
    gap->loss.first_seq = ring->last_gap_seq = ring->last_seq;
    gap->loss.first_ns = ring->last_gap_ns = ring->last_ns;
}

static void drop_first_gap(struct drain_ring *ring)
{
    assert(ring->gap_count > 0);
    ring->gap_count--;
    memmove(ring->gaps, ring->gaps + 1, ring->gap_count * sizeof *ring->gaps);
}

/* Producers that came too late for their slot: their tickets are torn facts already, this says how
 * many of them lived on. */
static void see_late(struct drain_ring *ring)
{
    uint64_t late = atomic_load_explicit(&ring->reader.ring->late, memory_order_relaxed);
    if (late <= ring->late_seen || late > RING_MOST_LOST)
        return;
    struct state_loss loss = {.first_seq = ring->last_seq,
                              .first_ns = ring->last_ns,
                              .last_ns = ring->last_ns,
                              .late = late - ring->late_seen};
    ring->late_seen = late;
    state_lost(ring->process, &loss);
}

/* ---- events ---- */

static void feed_one(struct drain_ring *ring, const struct event *event)
{
    uint64_t ticket = event->word - 1;
    bool passed = ring->gap_count > 0 && ticket >= ring->gaps[0].ticket;
    see_life(ring);
    if (passed) {
        note_gap_begin(ring, &ring->gaps[0]);
        state_unsure(ring->process);
    }
    ring->last_seq = state_event(ring->process, event);
    ring->last_ns = event->time_ns;
    ring->events++;
    if (passed) {
        store_gap(ring, &ring->gaps[0]);
        drop_first_gap(ring);
    }
}

static void feed(struct drain_ring *ring, const struct event *events, size_t count,
                 const struct ring_torn *torn, size_t torn_count, uint64_t now_ns)
{
    size_t hole = 0;
    for (size_t i = 0; i <= count; i++) {
        for (; hole < torn_count && (i == count || torn[hole].ticket < events[i].word - 1); hole++)
            state_torn(ring->process, torn[hole].ticket, now_ns,
                       torn[hole].why == TORN_DEAD ? "dead" : "timeout");
        if (i < count)
            feed_one(ring, &events[i]);
    }
}

/* The limit of a dead process is not moved: so a header that it scribbled over cannot make its ring
 * look longer than it is. */
bool drain_ring_step(struct drain_ring *ring, struct event *buffer, bool dead, uint64_t now_ns)
{
    struct ring_torn torn[DRAIN_TORN];
    size_t torn_count;
    see_losses(ring);
    size_t count = ring_reader_take(&ring->reader, buffer, DRAIN_TAKE, now_ns, dead, torn,
                                    DRAIN_TORN, &torn_count);
    drain_ring_define(ring);
    feed(ring, buffer, count, torn, torn_count, now_ns);
    see_late(ring);
    if (!dead)
        ring_reader_release(&ring->reader);
    assert(drain_ring_is_valid(ring));
    return count == DRAIN_TAKE || torn_count == DRAIN_TORN;
}

bool drain_ring_is_empty(const struct drain_ring *ring)
{
    return ring_reader_backlog(&ring->reader) == 0;
}

bool drain_ring_is_unused(const struct drain_ring *ring)
{
    const struct ring_shared *shared = ring->reader.ring;
    return !ring->live && !ring->had_gap && ring->reader.torn_count == 0 &&
           atomic_load_explicit(&shared->attached, memory_order_relaxed) == 0 &&
           atomic_load_explicit(&shared->head, memory_order_relaxed) == 0 &&
           atomic_load_explicit(&shared->arena_full, memory_order_relaxed) == 0;
}

/* ---- definitions that found no room ---- */

static bool store_anomaly(const struct drain_ring *ring, struct batch *batch, int64_t process_id,
                          const char *kind, const char *detail)
{
    struct row_anomaly row = {
        .seq = ring->last_seq,
        .process = process_id,
        .at_ns = (int64_t)(ring->last_ns - ring->start_ns),
        .kind = kind,
        .detail = detail,
    };
    return batch_put_anomaly(batch, &row);
}

static void store_refused(struct drain_ring *ring, struct batch *batch, int64_t process_id)
{
    char text[96];
    snprintf(text, sizeof text,
             "%" PRIu64 " names and call stacks so far found no room: they are '?'",
             ring->refused_seen);
    if (store_anomaly(ring, batch, process_id, "definitions full", text))
        ring->refused_stored = ring->refused_seen;
}

/* The counter is the program's to write: it never runs backwards here. */
static void see_refused(struct drain_ring *ring)
{
    uint64_t now = atomic_load_explicit(&ring->reader.ring->arena_full, memory_order_relaxed);
    if (now > ring->refused_seen)
        ring->refused_seen = now > INT64_MAX ? INT64_MAX : now;
}

void drain_ring_see_full(struct drain_ring *ring, struct batch *batch, int64_t process_id)
{
    see_refused(ring);
    if (ring->refused_seen > 0 && ring->refused_stored == 0)
        store_refused(ring, batch, process_id);
}

/* ---- the end ---- */

static void put_cost(struct batch *batch, int64_t process, const char *what, uint64_t value,
                     const char *unit)
{
    struct row_overhead row = {
        .process = row_opt(process),
        .what = what,
        .value = (int64_t)(value > INT64_MAX ? INT64_MAX : value),
        .unit = unit,
    };
    if (value > 0)
        batch_put_overhead(batch, &row);
}

static uint64_t sum_of_dropped(const struct ring_reader *reader)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < EVENT_KIND_SLOTS; kind++)
        sum += reader->dropped_seen[kind];
    return sum;
}

void drain_ring_finish(struct drain_ring *ring, struct batch *batch, int64_t process_id)
{
    const struct ring_shared *shared = ring->reader.ring;
    see_losses(ring);
    while (ring->gap_count > 0) {
        note_gap_begin(ring, &ring->gaps[0]);
        store_gap(ring, &ring->gaps[0]);
        drop_first_gap(ring);
    }
    see_late(ring);
    put_cost(batch, process_id, "ring waits", atomic_load(&shared->waits), "count");
    put_cost(batch, process_id, "ring wait", atomic_load(&shared->wait_ns), "ns");
    put_cost(batch, process_id, "longest ring wait", atomic_load(&shared->longest_wait_ns), "ns");
    put_cost(batch, process_id, "arena used", ring->arena.at, "bytes");
    see_refused(ring);
    if (ring->refused_seen > ring->refused_stored)
        store_refused(ring, batch, process_id);
    put_cost(batch, process_id, "definitions refused: arena full", ring->refused_seen, "count");
    put_cost(batch, process_id, "definitions refused: arena busy", atomic_load(&shared->arena_busy),
             "count");
    put_cost(batch, process_id, "drop modes", atomic_load(&shared->drops_begun), "count");
    put_cost(batch, process_id, "events dropped", sum_of_dropped(&ring->reader), "count");
    put_cost(batch, process_id, "events torn", ring->reader.torn_count, "count");
    put_cost(batch, process_id, "producers late", ring->late_seen, "count");
    if (ring->arena_damaged)
        store_anomaly(ring, batch, process_id, "definitions damaged",
                      "what names they gave after that is not known");
}
