/*
 * host.h - what the kernel said about the memory of a process around a time: samples that the
 * recorder took at ends of phases and at refused requests.
 *
 * RSS is that of the nearest sample, earlier or later; the others are as of that time.
 *
 * Invariants: what is not known, and a limit that is none, is HOST_NONE; without `rss` nothing is
 * known.
 */
#ifndef TIDEMARK_ANALYSIS_HOST_H
#define TIDEMARK_ANALYSIS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"

#define HOST_NONE INT64_MIN

struct host {
    int64_t at_ns; /* when it was read */
    int64_t rss, most_rss;
    int64_t address_space, most_address_space, limit_address_space; /* RLIMIT_AS */
    int64_t data, limit_data;                                       /* RLIMIT_DATA */
    int64_t group_used, group_limit;                                /* of the control group */
    int64_t available, machine;
};

/* 0 or an error. */
int host_read(struct db *db, int64_t process, int64_t at_ns, struct host *out);

struct host_kill {
    bool killed;      /* by the kernel, for its memory */
    struct host host; /* as last read */
    int64_t at_ns;
};
int host_kill_read(struct db *db, int64_t process, struct host_kill *out);

/* What of it refuses a request of so many bytes. */
enum host_wall {
    HOST_WALL_UNKNOWN,
    HOST_WALL_ADDRESS_SPACE, /* RLIMIT_AS, as ulimit -v */
    HOST_WALL_DATA,          /* RLIMIT_DATA, as ulimit -d */
    HOST_WALL_GROUP,         /* the control group has less left */
    HOST_WALL_MACHINE        /* the machine has less left */
};
enum host_wall host_wall_of(const struct host *host, int64_t asked);
/* When that limit was set, where the process began without it: by the program itself then, as what
 * `ulimit` sets is there from the start. HOST_NONE: no limit of the process, or it was there. 0 or
 * an error. */
int host_limit_set(struct db *db, int64_t process, int64_t at_ns, enum host_wall wall,
                   int64_t *set_ns);

#endif
