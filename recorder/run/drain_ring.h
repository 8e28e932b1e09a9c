/*
 * drain_ring.h - reading one process's ring into the heap state: definitions, events, holes,
 * losses. Belongs to the drain thread.
 *
 * Losses. Events are dropped between two tickets: the program notes the next ticket (T) when drop
 * mode begins, and takes it when the mode has ended. So what the counters have gained belongs
 * between events T - 1 and T, and the fact is stored when T is passed, or when the ring ends.
 * Between two releases of the limit at most one drop mode begins, at a distance of half a ring at
 * least: so there are never more than DRAIN_GAPS waiting to be passed.
 */
#ifndef TIDEMARK_RECORDER_DRAIN_RING_H
#define TIDEMARK_RECORDER_DRAIN_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "ring.h"
#include "state.h"

#define DRAIN_TAKE 4096u /* events of one batch from a ring */
#define DRAIN_TORN 64u
#define DRAIN_GAPS 4u

/* Where a ring is read, from its header. Taken before the program has the ring: from then on the
 * header is the program's to write. */
struct drain_source {
    struct ring_reader reader;
    struct arena_reader arena;
    uint64_t from;  /* the key of the image whose numbers go on here */
    uint32_t first; /* so many of them; 0 = none */
};
void drain_source_init(struct drain_source *source, struct ring_shared *shared);

struct drain_gap {
    uint64_t ticket; /* T: lost before it */
    struct state_loss loss;
};

struct drain_ring {
    struct state_process *process;
    struct ring_reader reader;
    struct arena_reader arena;
    bool live; /* something came: the program has the ring and uses it */
    bool api;  /* and it calls tidemark.h itself */
    bool arena_damaged;
    uint64_t refused_seen;             /* definitions that found no room, as last counted */
    uint64_t refused_stored;           /* as the last fact says */
    struct drain_gap gaps[DRAIN_GAPS]; /* oldest first */
    unsigned gap_count;
    uint64_t last_gap_ticket;
    bool had_gap;
    int64_t last_gap_seq; /* the last event before it */
    uint64_t last_gap_ns;
    uint64_t late_seen;
    int64_t last_seq;  /* of this process's last event, 0 = none */
    uint64_t start_ns; /* of the run; CLOCK_MONOTONIC */
    uint64_t last_ns;  /* of the last event, or when the process began */
    uint64_t events;
};

void drain_ring_init(struct drain_ring *ring, struct state_process *process,
                     const struct drain_source *source, uint64_t start_ns, uint64_t begin_ns);
bool drain_ring_is_valid(const struct drain_ring *ring);

/* Reads all definitions that are there: whoever goes on from them is next. */
void drain_ring_define(struct drain_ring *ring);
/* Takes one batch: at most DRAIN_TAKE events into `buffer`. `dead`: nobody will publish any more.
 * Returns true if there was more than that. */
bool drain_ring_step(struct drain_ring *ring, struct event *buffer, bool dead, uint64_t now_ns);
/* Stores, the first time, that definitions find no room any more. */
void drain_ring_see_full(struct drain_ring *ring, struct batch *batch, int64_t process_id);
/* Nothing waits to be read. */
bool drain_ring_is_empty(const struct drain_ring *ring);
/* The program has neither mapped it nor written to it, as far as it tells. */
bool drain_ring_is_unused(const struct drain_ring *ring);
/* Stores what is still to be said about losses, and what the ring cost the process. */
void drain_ring_finish(struct drain_ring *ring, struct batch *batch, int64_t process_id);

#endif
