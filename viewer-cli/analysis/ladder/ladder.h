/*
 * ladder.h - how far what a program asked for is from what the device says is gone.
 *
 *     requested <= allocated <= active <= reserved <= this process on the device <= device used
 *
 * Each gap has a name: rounding, awaiting free, cached and fragmented, outside the allocator, other
 * processes. A rung that the source does not tell is left out, and the gap over it has the names of
 * all that it spans. What the source counts as allocated and never showed as a block is no
 * rounding: it is the unattributed line.
 *
 * Where the driver told of its memory there are parts instead: above reserved, what each library
 * took from the driver itself, pools, the context, other processes. Then the unattributed line is
 * the highest rung less all that is known, whatever its sign: memory that no call told of. Samples
 * are taken now and then: what the driver gave and took since the last one is added to it, so that
 * a peak between two of them does not look as if memory were missing. The unattributed line is then
 * as of that sample, and says so.
 *
 * On the CPU the rungs above are the kernel's: RSS in place of the process on the device, what its
 * control group uses in place of device used, and `limit` of that group, or the machine's memory.
 * RSS may be less than allocated (memory that was never touched), and the group may have less than
 * RSS (pages of files that another group read): gaps of that sort are negative, and say so.
 *
 * On a device that no framework had a block on (driven.h) no rung below the process's is known, and
 * the parts stand on nothing: `alone`.
 *
 * Invariants (ladder_is_valid): the gaps and the unattributed line add up to the highest rung that
 * is known less the lowest; the lowest has no gap. With parts: the gaps, the parts and that line
 * do; where neither the process's rung nor the device's is known, the parts are above the highest.
 * Alone, the lowest is 0.
 */
#ifndef TIDEMARK_ANALYSIS_LADDER_H
#define TIDEMARK_ANALYSIS_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "group.h"
#include "host.h"
#include "instant.h"
#include "outside.h"

#define LADDER_NONE GROUP_NONE

enum ladder_step {
    LADDER_REQUESTED,
    LADDER_ALLOCATED,
    LADDER_ACTIVE,
    LADDER_RESERVED,
    LADDER_PROCESS, /* samples 'process used' of the process on the device; RSS */
    LADDER_DEVICE,  /* samples 'device used'; 'cgroup used' */
    LADDER_STEPS
};

struct ladder_facts {
    int64_t bytes[LADDER_STEPS]; /* LADDER_NONE: not known */
    int64_t living;              /* bytes of the blocks that are known to live; LADDER_NONE */
    int64_t sampled_ns;          /* when device used was read, LADDER_NONE */
    int64_t sample_age;          /* and how long that was before, 0 */
    bool alone;                  /* no framework had a block there */
    bool is_host;                /* the CPU's memory */
    struct host host;            /* there */
    struct outside outside;
};

struct ladder_rung {
    int64_t bytes; /* LADDER_NONE */
    int64_t
        gap; /* above the nearest known rung below; LADDER_NONE: it is not known, or the lowest */
    char what[96]; /* the gap is */
};

enum { LADDER_PARTS = OUTSIDE_PARTS + 2 };
struct ladder_part {
    const char *quantity;
    char what[LIBRARY_TEXT + 48];
    int64_t bytes;
    enum ladder_step under; /* it is below this rung */
};

struct ladder {
    struct ladder_rung rungs[LADDER_STEPS];
    bool told;     /* the driver's memory is known: there are parts */
    bool alone;    /* and no framework's */
    bool measured; /* a rung of the device's or the process's is known; else nobody knows what is
                      unattributed, where the driver told */
    bool once; /* alone, and what the device had at first is the same sample: what is unattributed
                  is 0 by itself, and not known */
    int64_t sample_age;
    struct ladder_part parts[LADDER_PARTS];
    size_t part_count;
    int64_t managed;  /* bytes of managed memory, in no part */
    int64_t blind_ns; /* the driver was not watched, before that moment */
    int64_t unattributed;
    size_t known; /* rungs */
    bool is_host;
    const char *limit_text;   /* of the CPU: whose limit; NULL: none is known */
    struct ladder_rung limit; /* above all rungs, and in no sum */
};

void ladder_make(const struct ladder_facts *facts, struct ladder *out);
bool ladder_is_valid(const struct ladder *ladder);
const char *ladder_step_text(enum ladder_step step);
/* As it is called on this ladder's device; NULL: there is no such rung on the CPU. */
const char *ladder_rung_text(const struct ladder *ladder, enum ladder_step step);

/* What no look at the living blocks tells: active (from bytes[LADDER_ALLOCATED], which is set), the
 * process and the device: the last samples before, and what the driver gave and took since. 0 or an
 * error. */
int ladder_read_around(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t at_ns,
                       struct ladder_facts *facts);
/* All of an instant. */
int ladder_read(struct db *db, int64_t process, int64_t device, const struct instant *instant,
                struct ladder_facts *facts);

#endif
