/*
 * drain_types.h - the drain's own thread: what it knows of processes, and the parts of its round.
 *
 *     drain_hear       drain_client.c   messages: processes that began, got a ring, or ended
 *     drain_read_all   drain_take.c     events, and the ends of processes that have been read
 *     drain_flush      drain_store.c    batches into the writer's queue
 *
 * Everything here is the thread's alone, but for mail, `failed`, and what is copied under a lock.
 */
#ifndef TIDEMARK_RECORDER_DRAIN_TYPES_H
#define TIDEMARK_RECORDER_DRAIN_TYPES_H

#include <pthread.h>

#include "clock.h"
#include "drain.h"
#include "drain_host.h"
#include "drain_mail.h"
#include "drain_ring.h"
#include "map.h"
#include "meters.h"
#include "ticks.h"

#define DRAIN_NAP_NS (1 * NS_PER_MS) /* the shortest sleep */
#define DRAIN_COMMIT_NS NS_PER_S

struct drain_client { /* one process image that has not ended */
    uint64_t key, parent;
    int64_t id; /* process.id */
    pid_t pid;
    bool same_namespace;
    uint64_t begin_ns;
    struct state_process *process;
    struct drain_ring *ring; /* NULL: none */
    bool ending;
    bool lives; /* ending, and it may still publish */
    uint64_t end_ns, ask_ns;
    struct process_end end;
    struct drain_host host;
};

struct drain {
    pthread_t thread;
    struct drain_mail mail;

    /* The thread's own. */
    struct drain_options options;
    struct drain_client **clients; /* in no order */
    size_t client_count, client_cap;
    struct ticks ticks; /* told to each ring, from time to time */
    struct map ids; /* key to process.id, of clients and of those that are a client's parent */
    uint64_t commit_ns, clock_ns, threads_ns;
    bool stopping;
    uint64_t unbeaten; /* events read since the last beat */
    bool dirty;        /* something came since the last commit */
    struct event buffer[DRAIN_TAKE];
    struct drain_stats stats;
    _Atomic bool failed;

    _Atomic bool asked; /* for the sums */
    pthread_mutex_t sums_lock;
    struct state_totals sums;
    _Atomic bool meters_asked;
    pthread_mutex_t meters_lock;
    struct meters meters;
};

struct drain_client *drain_find_client(const struct drain *drain, uint64_t key);
/* `events`: some came just now. */
void drain_look_at_host(struct drain *drain, struct drain_client *client, bool events);
void drain_hear(struct drain *drain);

/* Returns how many events came; *rings: how many are open. */
uint64_t drain_read_all(struct drain *drain, bool look_at_threads, size_t *rings);

void drain_beat_all(void *context);
void drain_flush(struct drain *drain, uint64_t now_ns);
void drain_put_clocks(struct drain *drain);

#endif
