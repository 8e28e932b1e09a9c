/*
 * drain_host.h - when the memory of a recorded process is asked for, and its rows of table sample.
 * Belongs to the drain thread: the recorded program does nothing for it.
 *
 * At the end of a phase, not sooner than HOST_SOON_NS after the last time; at other events after
 * HOST_DUE_NS, without any after HOST_IDLE_NS; and at a refused request, if HOST_REFUSED_NS have
 * passed since the last one. RSS is stored each time but when idle, others as they change.
 *
 * A process that ends by SIGKILL was killed for its memory if its control group counts one kill
 * more than when it was last looked at.
 */
#ifndef TIDEMARK_RECORDER_DRAIN_HOST_H
#define TIDEMARK_RECORDER_DRAIN_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "batch.h"
#include "host_memory.h"

struct drain_host {
    bool begun;
    struct host_group group;
    int64_t stored[HOST_VALUES]; /* as last stored, HOST_UNKNOWN */
    int64_t limit, kills;        /* as last read */
    uint64_t read_ns, refused_ns;
    uint64_t moments, refusals; /* as of then */
};

/* So far, of the process's events. */
struct drain_moments {
    uint64_t moments;  /* ends of phases and steps */
    uint64_t refusals; /* requests that failed */
    bool events;       /* something came in this round */
};

struct drain_host_row {
    struct batch *batch;
    int64_t process;
    pid_t pid;
    uint64_t start_ns; /* of the run */
};

/* Looks if it is time to. */
void drain_host_look(struct drain_host *host, const struct drain_moments *moments,
                     const struct drain_host_row *row, uint64_t now_ns);
/* The process was ended by SIGKILL: true if that was for memory, which is stored. */
bool drain_host_killed(struct drain_host *host, const struct drain_host_row *row, uint64_t now_ns);

#endif
