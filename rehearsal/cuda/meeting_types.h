/*
 * meeting_types.h - what meeting.c, exchange.c and works.c share: a meeting, and the list of those
 * that this process joined. Whoever looks at a meeting holds the list's lock, but for those who
 * join or split, who wait without it.
 */
#ifndef TIDEMARK_REHEARSAL_MEETING_TYPES_H
#define TIDEMARK_REHEARSAL_MEETING_TYPES_H

#include <pthread.h>
#include <stdatomic.h>

#include "meeting.h"
#include "window.h"

#define MEETINGS_MAX 256
#define SPLITS_MAX 256
#define NAPS_UNTIL_LOOK 100 /* at who is still there */

/* Whether a rank takes part in a split. Once it is not 0 it does not change: all agree. */
enum { NOT_HERE, HERE, LEFT_OUT };

struct split {
    _Atomic int32_t here[MEETING_RANKS_MAX];
    int32_t color[MEETING_RANKS_MAX], key[MEETING_RANKS_MAX];
    /* Of the first rank of each color, in that rank's place; the key is written last. */
    struct {
        int32_t pid, descriptor;
        _Atomic uint64_t key;
    } place[MEETING_RANKS_MAX];
};

/* What ranks share. It begins as zeroes, and takes only the pages that are touched. */
struct shared {
    _Atomic uint64_t key;
    atomic_int joined;
    _Atomic int32_t pid[MEETING_RANKS_MAX];
    _Atomic uint64_t since[MEETING_RANKS_MAX]; /* when its process began */
    _Atomic uint64_t number[MEETING_RANKS_MAX];
    struct split splits[SPLITS_MAX];
    /* One of each rank for all; then, rank by rank, one for each rank that it may send to. */
    struct channel channels[];
};

/* One that this process joined. Its number has the place in the list and how often that was used:
 * streams and events may still name one that was left. */
struct meeting {
    struct shared *shared; /* NULL: left */
    uint32_t uses;
    int size, rank, splits;
    bool has_said;     /* that somebody is gone */
    int joined;        /* when it was looked last for one who has not come, */
    uint64_t since_ms; /* and since when nobody has */
    /* A wait for room was in vain, and there was none since: of works, of messages to each. */
    bool has_waited[1 + MEETING_RANKS_MAX];
    struct window *windows; /* of the works, then of the messages of each rank */
};

struct meetings {
    pthread_mutex_t lock; /* of the list and of all works */
    struct meeting list[MEETINGS_MAX];
    atomic_uint count; /* places that were ever used */
    atomic_bool works;
};

extern struct meetings meetings;

/* Longer from the 16th on. */
void nap(unsigned naps);
/* Once in so many naps it is asked who is still there: it takes a look at each process. */
static inline bool is_look(unsigned naps)
{
    return naps % NAPS_UNTIL_LOOK == NAPS_UNTIL_LOOK - 1;
}

/* NULL: left, or never joined. */
struct meeting *meeting_get(uint32_t number);
/* The rank that others wait for is gone, or does not come: they go on without what it would have
 * brought. Says so, once a meeting. */
bool meeting_misses(struct meeting *meeting, int rank);
/* Of what `from` brings to all (`to` -1), or to one. */
struct channel *meeting_channel(const struct meeting *meeting, int from, int to);

/* Under the lock: one more that a stream waits for. */
void works_put(struct works *works, uint32_t meeting, uint32_t from, uint64_t number);

#endif
