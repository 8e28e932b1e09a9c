/*
 * outside.h - what a process had on a device at an instant besides its allocator's memory: what
 * libraries took from the driver themselves, what the driver keeps in pools and for graphs, and
 * what was there when the device was first looked at.
 *
 * A part is memory of one library in which no framework's block ever lay and no segment of a
 * source, or the pools, or graphs' memory. Pools are the allocator's own, and no part, where blocks
 * lie in parts of them. Managed memory is none: where it lies is not known. Neither is memory of
 * other processes, nor the host's.
 *
 * Pools are sampled together with the device: of a moment counts the sample that belongs to the
 * device's last one, so that both are of one time. What is handed out of pools is known at every
 * moment, and a pool is no smaller: where that is more than the sample, the pool has grown since,
 * and the device with it (outside_since). Without a sample, what is handed out stands for the pool.
 *
 * The base is what the first sample said less all that the driver had told of then: the context,
 * with what a library takes that no call shows; and, in a sample of the device, other processes.
 *
 * Invariants (outside_is_valid): parts have bytes, the larger first, the last may be the rest of
 * many libraries; no two have one name.
 */
#ifndef TIDEMARK_ANALYSIS_OUTSIDE_H
#define TIDEMARK_ANALYSIS_OUTSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "group.h"
#include "library.h"

#define OUTSIDE_NONE GROUP_NONE
enum { OUTSIDE_PARTS = 12 };

struct outside_part {
    char name[LIBRARY_TEXT];
    int64_t bytes;
    int64_t pieces; /* 0: it is not counted in pieces */
};

struct outside_base {
    int64_t bytes; /* OUTSIDE_NONE: there is no sample at or before the instant */
    int64_t at_ns; /* of the sample */
};

struct outside {
    bool told; /* the driver told of memory that the process had on the device */
    struct outside_part parts[OUTSIDE_PARTS];
    size_t count;
    int64_t managed;             /* bytes that are managed, in no part */
    int64_t blind_ns;            /* the source saw nothing, before the instant */
    struct outside_base process; /* by samples of what the process uses */
    struct outside_base device;  /* by samples of what is used in all */
};

/* After the event `seq`, at `at_ns`. 0 or an error. */
int outside_read(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t at_ns,
                 struct outside *out);
/* The bytes that the driver gave since the device's sample at `from_ns` up to the event `seq`, less
 * those that it took; with what its pools are known to have grown by. `reserved`: by the
 * allocator's own word behind that event, OUTSIDE_NONE: not known; it is the pool's size where
 * blocks lie in it.
 */
int outside_since(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t from_ns,
                  int64_t reserved, int64_t *bytes);
bool outside_is_valid(const struct outside *outside);

#endif
