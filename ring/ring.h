/*
 * ring.h - one ring of events for each recorded process, in a memfd that the recorder owns.
 *
 * Many producers (the threads of the program), one consumer (the recorder's drain).
 *
 * Tickets. `head` is the next ticket; a producer takes ticket t by CAS after it has seen t < limit.
 * `limit` is written by the drain alone: tail + slots, once for each batch. Ticket t lives in slot
 * t mod slots. The word of that slot tells everything:
 *
 *     word before t is published   t + 1 - slots, or 0 in the first lap: free for t
 *     word of a published slot     t + 1
 *     RING_FENCED | t + 1          the drain gave t up: a hole. Out of service.
 *     RING_LATE | t + 1            and its producer came after all. Out of service until the drain
 *                                  passes the slot the next time, with another ticket t:
 *     RING_FREED | t + 1           t was given up. Free for t + slots, as by t + 1.
 *
 * A producer publishes by CAS from the free word; when that fails it has been fenced: it marks the
 * slot late and counts itself. A producer that finds its slot out of service gives the ticket up
 * and takes another: the drain passes such a ticket as `skipped`, for nothing was lost. So a
 * stalled producer writes only into a slot that nobody else can get.
 *
 * The drain may free a slot with ticket t before the producer of t has looked at it. By t + 1 this
 * producer would take its event for published by its twin (a signal handler forked between ticket
 * and event, and both go on), and it would be lost without being counted: hence RING_FREED.
 *
 * Full. A producer that finds t >= limit waits on `progress` while the recorder advances. After
 * RING_PATIENCE_MS without progress, or when the owner word says that the recorder died, the ring
 * is in drop mode: nobody waits, events are counted by kind, until the drain has half the ring
 * free.
 *
 *     RING_OPEN --no progress--> RING_DROPPING --half free--> RING_OPEN
 *         any --recorder gone, or it says so--> RING_CLOSED (for good)
 *
 * Invariants: tail <= head <= limit = tail + slots; a ticket is published, torn (fenced), or
 * skipped, exactly one of them; accepted events of a thread keep their order.
 *
 * Who believes whom: nobody. Either side can write all of the shared memory at any moment, and so
 * can whoever took the other's place. Each side reads the header's first line once, checks it, and
 * keeps what it needs in its own memory: struct ring_reader the drain, struct ring the program. A
 * word that is read later is a ticket, a futex or a counter: cut to the slots, or only compared.
 */
#ifndef TIDEMARK_RING_RING_H
#define TIDEMARK_RING_RING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "event.h"
#include "owner.h"
#include "ticks.h"

#define RING_MAGIC 0x474e495245444954ull /* "TIDERING" */
#define RING_PATIENCE_MS 100u
#define RING_HOLE_NS 1000000000ull /* a hole of a living process is passed after this */
#define RING_FENCED (1ull << 63)
#define RING_LATE (1ull << 62)
#define RING_FREED (1ull << 61)
#define RING_MIN_BITS 6u
#define RING_MAX_BITS 24u
#define RING_DEFAULT_BITS 16u                    /* 65,536 events, 4 MiB */
#define RING_DEFAULT_ARENA (16ull * 1024 * 1024) /* touched as it is used */
#define RING_MOST_ARENA (1ull << 34)

enum ring_mode { RING_OPEN = 0, RING_DROPPING = 1, RING_CLOSED = 2 };

/* Shared with the program: 64-bit words only, each group on lines of its own. */
struct ring_shared {
    /* Written once by the recorder, before the memfd is given out; but for the last. */
    uint64_t magic;
    uint32_t format;
    uint32_t slot_bits;
    uint64_t slots_offset; /* from the start of the mapping */
    uint64_t arena_offset;
    uint64_t arena_bytes;
    uint64_t map_bytes;
    uint64_t key;              /* by which forked children name this ring; 0 = they cannot */
    uint32_t arena_first;      /* numbers up to this one are those of `arena_from`: see arena.h */
    _Atomic uint32_t attached; /* by the program: it has mapped the ring, and goes on to use it */

    /* Producers. */
    _Alignas(64) _Atomic uint64_t head;

    /* The drain. */
    _Alignas(64) _Atomic uint64_t limit;
    _Alignas(64) _Atomic uint32_t progress; /* futex: grows with limit, and with each beat */
    _Atomic uint32_t waiters;               /* producers in futex wait */
    _Atomic uint32_t mode;                  /* enum ring_mode */
    _Atomic uint32_t api;                   /* the program called include/tidemark.h itself */
    _Atomic uint64_t drop_ticket;           /* head when drop mode began: the loss comes after it */

    /* How events get their time: the drain writes it, producers read it. */
    _Alignas(64) struct ticks_line clock;

    /* The recorder; the kernel marks it when the recorder dies. */
    _Alignas(64) struct owner_word owner;

    /* Counters of the slow paths. */
    _Alignas(64) _Atomic uint64_t dropped[EVENT_KIND_SLOTS]; /* by event kind */
    _Atomic uint64_t drops_begun;                            /* how often drop mode began */
    _Atomic uint64_t late;  /* producers that found themselves fenced */
    _Atomic uint64_t waits; /* waits for a full ring, how long, the longest */
    _Atomic uint64_t wait_ns;
    _Atomic uint64_t longest_wait_ns;
    _Atomic uint64_t arena_full;
    _Atomic uint64_t arena_busy;

    /* Definitions: see arena.h. */
    _Alignas(64) _Atomic uint64_t arena_used; /* bytes, stored with release */
    uint64_t
        arena_from; /* the key of another ring; for the drain, before the program has this one */
};

static_assert(EVENT_KIND_COUNT <= EVENT_KIND_SLOTS, "dropped[] has room for each kind");

/* For who made the ring, before the program has it. */
static inline struct event *ring_slots(struct ring_shared *ring)
{
    return (struct event *)((char *)ring + ring->slots_offset);
}

/* ---- the recorder's side: creating, owning ---- */

/* Makes a memfd of the size needed and maps it. *fd is to be sent to the program and closed.
 * The calling thread owns the ring until it dies or calls ring_destroy: let it be one that lives as
 * long as the recorder, and the same for all. Returns a base_err. */
int ring_create(struct ring_shared **ring, unsigned slot_bits, uint64_t arena_bytes, int *fd);
/* Without the memfd: for a program that is its own recorder, in tests and benchmarks. */
#define RING_NO_FD ((int *)0)
void ring_close(struct ring_shared *ring); /* RING_CLOSED: producers give up at once */
/* With the dimensions that it was created with: the header's own could have been scribbled over. */
void ring_destroy(struct ring_shared *ring, unsigned slot_bits, uint64_t arena_bytes);
uint64_t ring_bytes(unsigned slot_bits, uint64_t arena_bytes); /* of the whole mapping */
bool ring_is_valid(const struct ring_shared *ring);
/* Fills in the offsets and sizes that a header of these dimensions has. */
void ring_lay_out(struct ring_shared *ring, unsigned slot_bits, uint64_t arena_bytes);

/* ---- the program's side ---- */

/* A ring as its producers see it, in their own memory. Invariants: slots[0..mask] and the arena lie
 * in the map_bytes behind `shared`; mask + 1 is a power of two. But for the arena's state nothing
 * in here changes: a thread may be in the middle of a push while a fork in a signal handler gives
 * the child another ring. */
struct ring {
    struct ring_shared *shared;
    struct event *slots;
    uint64_t mask;
    uint64_t map_bytes;
    uint64_t key;         /* as in the header */
    uint32_t arena_first; /* likewise */
    uint32_t generation;  /* the program's own number of it; 0: none was given */
    struct arena arena;
};

/* Maps a ring received. ERR_CORRUPT: it is none of this format, its size is not what its header
 * says, or could still change (F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL). The caller closes fd. */
int ring_attach(struct ring *ring, int fd);
void ring_detach(struct ring *ring);
/* Of a ring whose recorder is gone and that nobody else reads: the memory, not the addresses. Who
 * still writes there gets pages of zeroes. Nobody waits in it any more: it is closed. */
void ring_give_back_events(const struct ring *ring);
void ring_give_back_definitions(const struct ring *ring);
/* Of a program that is its own recorder: a ring that it made. */
void ring_use(struct ring *ring, struct ring_shared *shared);

enum ring_push { RING_PUSHED = 0, RING_DROPPED = 1, RING_OFF = 2 };

/* ring_fast.h has ring_push(); this is what it falls back to when the ring is full or closed. */
enum ring_push ring_push_slow(const struct ring *of, const struct event *event);
bool ring_recorder_died(const struct ring_shared *ring);

/* ---- the drain ---- */

enum ring_torn_why { TORN_DEAD = 1, TORN_TIMEOUT = 2 };

struct ring_torn {
    uint64_t ticket;
    enum ring_torn_why why;
};

/* Keeps its own copies of what the program could scribble over. */
struct ring_reader {
    struct ring_shared *ring;
    struct event *slots;
    uint64_t slot_count;
    uint64_t tail;          /* next ticket to read */
    uint64_t released;      /* tail at the last ring_reader_release */
    uint64_t hole_since_ns; /* when a hole was last found new */
    uint64_t hole_head;     /* head at that moment: holes before it are as old */
    uint64_t last_ns;       /* time of the last event returned: the clamp */
    uint64_t skipped;       /* tickets given up by their producers */
    uint64_t torn_count;
    uint64_t dropped_seen[EVENT_KIND_SLOTS];
};

void ring_reader_init(struct ring_reader *reader, struct ring_shared *ring);

/* Copies at most `max` published events in ticket order, times clamped; `word` keeps ticket + 1.
 * Holes of a dead process, or older than RING_HOLE_NS, are fenced and passed: reported through
 * torn[0..*torn_n), at most torn_max of them a call. Does not move the limit: call
 * ring_reader_release when the batch has been taken over. */
size_t ring_reader_take(struct ring_reader *reader, struct event *out, size_t max, uint64_t now_ns,
                        bool process_dead, struct ring_torn *torn, size_t torn_max, size_t *torn_n);
/* Publishes the new limit, wakes waiters, ends drop mode when half the ring is free. */
void ring_reader_release(struct ring_reader *reader);
/* Without a new limit: tells who waits for room that the recorder is at work. */
void ring_reader_beat(struct ring_reader *reader);
/* Events waiting, torn ones included. */
uint64_t ring_reader_backlog(const struct ring_reader *reader);
/* Counters only grow, and no program loses more: else they were scribbled over. All of a recording
 * can still be added up. */
#define RING_MOST_LOST (1ull << 48)
/* Fills lost[kind] with what was dropped since the last call; returns the sum. */
uint64_t ring_reader_losses(struct ring_reader *reader, uint64_t lost[EVENT_KIND_SLOTS]);
/* The ticket before which drop mode began last. */
uint64_t ring_reader_drop_ticket(const struct ring_reader *reader);

#endif
