/*
 * drain.h - the thread between the rings and the queue. It wakes every 1 to 5 ms, takes what each
 * ring has, in batches, feeds the heap state with it and pushes the rows on their way to the
 * writer.
 *
 * It alone touches the heap state. The supervisor tells it what happened to processes; images are
 * named by the keys of process.h. When the queue has no room the drain waits there: the rings fill
 * up behind it, and that is how a slow disk reaches the program, late and as a wait that ends.
 *
 * A ring is made and destroyed by the supervisor, for its owner (ring/owner.h) is one thread: the
 * drain hands it back when it was read to the end.
 */
#ifndef TIDEMARK_RECORDER_DRAIN_H
#define TIDEMARK_RECORDER_DRAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process.h"
#include "queue.h"
#include "ring.h"
#include "state.h"

struct drain;
struct meters;

/* Why a process has no events that asked for a ring and got it. */
#define DRAIN_RING_UNUSED                                                                          \
    "its ring was handed over, and nothing came through it: it could not map it (RLIMIT_AS, "      \
    "RLIMIT_NOFILE, a sandbox without mmap or lseek), or was killed just then"

struct drain_options {
    struct state *state;
    struct queue *queue;
    uint64_t start_ns; /* as the state's */
    int wake_fd; /* an eventfd, written when a ring comes back, or when nothing can be stored any
                    more */
};

struct drain_stats {
    uint64_t cpu_ns;
    uint64_t events, batches, wakes;
    uint64_t queue_high; /* bytes */
    uint64_t longest_push_ns;
    uint64_t definitions_refused; /* they found no room in their rings */
    uint64_t rings_unused;        /* asked for, and nothing ever came through them */
    uint64_t rings_killed;        /* the same, but a signal ended the process: perhaps at once */
    uint64_t killed;              /* processes that the kernel killed for their memory */
    int64_t killed_limit;         /* of the last one's control group; HOST_UNKNOWN */
    uint64_t forgotten;           /* processes and rings that memory ran out for */
};

/* The state is the drain's until drain_join. Returns a base_err. */
int drain_start(struct drain **out, const struct drain_options *options);

/* ---- what happened; from the supervisor. False without memory: then it was not told ---- */

struct drain_hello {
    uint64_t key, parent; /* parent 0 = not recorded */
    pid_t pid;
    bool same_namespace; /* thread numbers mean the same to us */
    const char *origin;  /* a constant */
    uint64_t at_ns;
    int64_t rank, local_rank, world_size; /* BATCH_NULL */
    const char *host, *argv, *why_not;    /* copied; NULL */
};
bool drain_begin(struct drain *drain, const struct drain_hello *hello);
/* The process gets this ring, and must not have it yet. At most one for each key, but for one that
 * was refused. */
bool drain_ring(struct drain *drain, uint64_t key, struct ring_shared *ring);
/* It has none, or the one that it was to get has not reached it: that comes back. NULL: the
 * reason given before was none. */
bool drain_refused(struct drain *drain, uint64_t key, const char *why_not);
/* The image is gone (`lives` false: what it has not published it never will), or it lives on and is
 * no longer listened to. Its ring is read to the end, then its row is completed. */
bool drain_end(struct drain *drain, uint64_t key, const struct process_end *end, uint64_t at_ns,
               bool lives);

/* ---- the way back ---- */

struct ring_shared *drain_returned(struct drain *drain); /* NULL: none at the moment */
/* The queue was closed before its time (the writer has failed): rings are closed, nothing is
 * recorded any more. */
bool drain_failed(const struct drain *drain);

/* The sums, some milliseconds old: those that were asked for the last time. For who asks a few
 * times a second; the thread never waits for it. */
void drain_totals(struct drain *drain, struct state_totals *out);
/* Likewise. Without memory *out is as it was. */
void drain_meters(struct drain *drain, struct meters *out);

/* After the last drain_end: finishes them all, flushes, ends the thread. Rings are still to be
 * asked for with drain_returned. */
void drain_stop(struct drain *drain);
void drain_free(struct drain *drain, struct drain_stats *stats);

#endif
