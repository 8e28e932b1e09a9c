/*
 * cupti_live.h - what calls do to the driver's memory, as events.
 *
 * A call that gives memory is told at its exit, when it has succeeded. One that takes memory back
 * is told at its enter, before the driver can hand the address out again: another thread's
 * allocation of the same address would otherwise be told first. If it fails after all, what it did
 * not take back is announced anew, as it was; the recorder then has two lives with nothing between
 * them. Between enter and exit the entry stays, marked with the number of the call.
 *
 * Physical memory is gone when its handle has no reference and no mapping: so the event comes with
 * whichever of release and unmap is the last.
 *
 * All may be called by any thread. They take one lock for the length of a few look-ups, wait for it
 * for a bounded time, and send events without it; an event whose table could not be had is sent
 * with what the call itself says. A free that could not mark its entry leaves a word for whoever
 * has the lock next, so that no entry stays for memory that is gone; where more cannot be noted,
 * live_missed counts it.
 *
 * While callbacks take the place of memory records both tell for a moment. What callbacks tell then
 * is noted (live_watch): the records of that moment are older, and are told only of other memory.
 */
#ifndef TIDEMARK_PROFILER_CUPTI_LIVE_H
#define TIDEMARK_PROFILER_CUPTI_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cupti_table.h"

/* Who calls, in numbers of definitions. */
struct live_call {
    uint32_t number; /* of this call, never 0 */
    uint32_t name;   /* of the outermost call of CUDA's */
    uint32_t site, library;
    uint32_t heap;    /* of the device of the thread's context */
    uint64_t context; /* current in the thread */
};

/* A new number for a call. */
uint32_t live_number(void);

/* DRIVER_ALLOC. Of `entry` the members up to refs and the kinds count. */
void live_given(const struct live_entry *entry);

/* Enter and exit of a free. `leave` returns whether it was known, or told all the same; `left` is
 * told so. `memory` is what an unknown one is taken for. */
bool live_leave(enum live_space space, uint64_t key, const struct live_call *call, uint32_t memory);
void live_left(enum live_space space, uint64_t key, const struct live_call *call, bool known,
               bool failed, uint32_t memory);

/* Exit of a retain; enter and exit of a release. */
void live_retained(uint64_t handle);
void live_release(uint64_t handle, const struct live_call *call);
void live_released(uint64_t handle, const struct live_call *call, bool failed);

/* Exit of a map; enter and exit of an unmap, of one mapping or several side by side. `of` is the
 * space of what is mapped: handles, or external memory. */
void live_mapped(uint64_t address, uint64_t bytes, enum live_space of, uint64_t handle,
                 const struct live_call *call);
void live_unmap(uint64_t address, uint64_t bytes, const struct live_call *call);
void live_unmapped(uint64_t address, uint64_t bytes, const struct live_call *call, bool failed);
/* The bytes mapped at an address; 0: nothing is. */
uint64_t live_mapping_at(uint64_t address);

/* A context is about to be destroyed: all that goes with it is freed. */
void live_context_gone(uint64_t context, uint32_t name);

/* cupti_graph.c: a graph was instantiated; it is about to be destroyed. */
void live_graph_ready(uint64_t graph);
void live_graph_gone(uint64_t graph, uint32_t name);

/* cupti_graph.c: work of a stream becomes nodes of a graph; 0: which one is known at the end. It
 * has ended; 0: there is no graph, and nothing that was captured into a new one. */
void live_capture_begins(uint64_t stream, uint64_t graph, uint64_t context);
void live_capture_ends(uint64_t stream, uint64_t graph, uint32_t name);
/* 0: it is not captured. Else what the `of` of its nodes is. */
uint64_t live_captured(uint64_t stream);

/* Callbacks were off meanwhile: calls that were under way have ended unseen. */
void live_settle(void);
/* Callbacks are about to end: a pool that is destroyed unseen must not be asked for its size. */
void live_forget_pools(void);

/* What may be gone: for whoever asks the driver (cupti_ask.h). */
struct live_key {
    uint64_t key, bytes;
    uint32_t serial;
    uint8_t space;  /* SPACE_ADDRESS or SPACE_MAPPING */
    uint8_t memory; /* enum driver_memory; of a mapping the space of what is mapped */
};
/* All of these, as many as there is room for; returns how many there are. */
size_t live_keys(struct live_key *keys, size_t room);
/* It is not there any more, and nobody saw it go. Physical memory that was mapped and is mapped no
 * more is taken for released: those who unmap it release it. False: it is another one by now. */
bool live_vanished(const struct live_key *key, uint32_t name);

/* See above. */
void live_watch(bool on);
/* Of this thread: what it tells happened some time ago (EVENT_F_LATE), and no callback tells it. */
void live_late(bool yes);
/* Whether callbacks have told of this since the watch began. */
bool live_was_told(enum live_space space, uint64_t key);

/* What could not be noted for want of the lock. */
uint64_t live_missed(void);

/* Stream-ordered pools, for sampling: the first with a key above `after`, in no other's hands until
 * live_pool_done. A call that destroys it waits for that, a little. False: there is none. */
bool live_pool_next(uint64_t after, uint64_t *pool, uint32_t *heap);
void live_pool_done(void);

/* For tests, while nobody else calls. */
bool live_is_valid(void);
void live_hold_for_test(bool hold);
uint64_t live_count(void);

#endif
