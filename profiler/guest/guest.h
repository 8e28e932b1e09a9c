/*
 * guest.h - Tidemark inside the recorded program: whether it is live, and how an event gets out.
 *
 * The life of a guest is one word, `state`, in a page of its own that the kernel wipes in a forked
 * child (MADV_WIPEONFORK): so a child finds GUEST_UNBORN, whatever its parent was.
 *
 *     UNBORN --first event--> FETCHING --ring mapped--> ON --recorder gone--> OFF
 *                              ^   |\--no recorder, no memory, refused, tried often--^
 *                              |   v
 *                              LATER: the recorder did not answer in time; a second later
 *                              the next event asks again
 *
 * OFF is for good in this process. In the child of a process that was OFF for want of a recorder
 * the first event tries once more.
 *
 * An armed program (hello.h) is never OFF but for want of memory: where others go OFF, it sleeps.
 *
 *     UNBORN, LATER --an event, a quarter of a second after the last try--> FETCHING
 *     FETCHING --ring mapped--> ON, and who asked for it is told (guest_at_wake)
 *        \--nobody listens--> LATER <--recorder gone-- ON
 *
 * While it sleeps guest_live is false, also for threads that meet another one which fetches: nobody
 * waits. A ring from before stays mapped, for a thread may be in the middle of a push (rings.h).
 *
 * From one ring to the next. Definitions keep their numbers: the next ring begins with a copy of
 * them, made under the lock of the old ring's, which is held until guest.ring is the next. Whoever
 * defines looks under that lock whether its ring is still guest.ring (intern.c): so each number
 * that was given out means the same in the next. An event says nothing of the ring it was thought
 * for, unless its sender has told that ring something it depends on, or counts what it told: such
 * an event carries the ring's number in `word` (guest_recording), and is dropped by another ring.
 *
 * Rules of this folder: no malloc, no stdio, no exit, no abort, nothing that is a cancellation
 * point; errno is left as it was; a lock is held for the length of a copy, and waits for it are
 * bounded.
 */
#ifndef TIDEMARK_PROFILER_GUEST_H
#define TIDEMARK_PROFILER_GUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "arena.h"
#include "event.h"
#include "ring.h"

enum guest_state {
    GUEST_UNBORN = 0,
    GUEST_FETCHING = 1,
    GUEST_ON = 2,
    GUEST_OFF = 3,
    GUEST_LATER = 4
};

struct guest_page {
    _Atomic uint32_t state; /* enum guest_state; a futex while FETCHING */
    uint32_t tries;         /* of fetches without an answer; the fetching thread's */
    _Atomic uint64_t retry_ns;
    _Atomic uint32_t has_cupti;   /* the CUPTI source was begun in this process: not in a child's */
    _Atomic uint32_t cuda_called; /* the driver called us in this process, whatever came of it */
    _Atomic uint32_t cupti_yields; /* torch.profiler's of this process that have not ended */
    _Atomic uint32_t mapped;       /* guest.ring is this process's own: not its parent's */
};

struct guest {
    struct guest_page *page;     /* NULL until guest_init */
    struct ring *_Atomic ring;   /* in memory of its own, which stays: see ring.h. An armed program
                                    gets another one while its threads go on */
    _Atomic uint32_t generation; /* counts rings; that of `ring`, and stored behind it */
    _Atomic uint64_t missed;     /* events that came while there was no answer yet; they are
                                    counted in the ring once there is one */
    bool armed;                  /* set once, before `page` */
};

extern struct guest guest;

/* Reads the environment and prepares the page; says hello. Idempotent; called by the constructor
 * and by tidemark_attach, whichever comes first. False: nobody records. */
bool guest_init(int argc, char **argv);

/* Arms a program that was not started so: who records it will listen under `name`. It sleeps until
 * guest_let. One thread. True: it is armed, perhaps since before, under another name. */
bool guest_arm(const char *name);
void guest_let(void);

/* The slow part of guest_live: fetches the ring, or finds that there is none. */
bool guest_start(void);

/* Of an armed program: called in the thread whose event found the recorder, before that event is
 * sent, each time. One listener; it may emit events. */
void guest_at_wake(void (*woken)(void));

/* The number of the ring, of an armed program that is on; else 0. Never fetches. Sees that the
 * recorder died, which a ring says only when it is full: the next recorder is not to wait for that.
 */
uint32_t guest_awake(void);

/* Lets a program (a test, a benchmark) be its own recorder: no socket, no fork. */
void guest_use_ring(struct ring_shared *shared);

static inline bool guest_live(void)
{
    uint32_t state = atomic_load_explicit(&guest.page->state, memory_order_acquire);
    return __builtin_expect(state == GUEST_ON, 1) || (state != GUEST_OFF && guest_start());
}

/* The same for what the program itself calls: the recorder is to know that it does. */
static inline bool guest_live_for_api(void)
{
    if (!guest_live())
        return false;
    struct ring_shared *shared = guest.ring->shared;
    if (__builtin_expect(!atomic_load_explicit(&shared->api, memory_order_relaxed), 0))
        atomic_store_explicit(&shared->api, 1, memory_order_relaxed);
    return true;
}

/* The number of the ring, once guest_live. Its ring is guest.ring or was: never one to come. */
static inline uint32_t guest_recording(void)
{
    return atomic_load_explicit(&guest.generation, memory_order_acquire);
}

/* Stamps time and thread, and pushes. The caller filled in everything else and asked guest_live;
 * `word` is 0, or the number of the only ring that the event is for. */
void guest_emit(struct event *event);

#endif
