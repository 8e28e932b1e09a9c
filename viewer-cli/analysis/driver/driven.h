/*
 * driven.h - a device on which a process had no framework's block, but memory of the driver's: a
 * program that calls CUDA itself, or an allocator that tells of no blocks.
 *
 * Allocated and reserved are an allocator's words and mean nothing there. What counts instead is
 * what the driver gave: device memory, arrays, physical memory, what it keeps in its pools and for
 * graphs. The context is not in it, nor managed memory, of which nobody knows where it lies.
 *
 * Pools are sampled. Between two samples a pool is taken for what the last one said, or for what is
 * handed out of it, where that is more: it cannot be less. Without a sample what is handed out
 * stands for it. Graphs' memory is the sample, without one their nodes'.
 *
 * Invariants (driven_is_valid): points go forward in time and in their numbers; no part of a value
 * is negative, and pools and graphs are no more than the whole; `tops` has the highest of each
 * DRIVEN_RUN points. Of an instant, what is held adds up to its value (driven_held_is_valid).
 */
#ifndef TIDEMARK_ANALYSIS_DRIVEN_H
#define TIDEMARK_ANALYSIS_DRIVEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "group.h"
#include "instant.h"

#define DRIVEN_NONE GROUP_NONE

struct driven_point { /* a change, and what was given behind it */
    int64_t seq;      /* of the last event of the driver's */
    int64_t ns;
    int64_t bytes;  /* of it all */
    int64_t pools;  /* of them: stream-ordered pools, with what is handed out of them */
    int64_t graphs; /* of them: graphs' memory */
    bool sampled;   /* a sample made it: `seq` is older */
};

#define DRIVEN_RUN 256
struct driven {
    bool found; /* it is such a device */
    int64_t process, device;
    struct driven_point *points;
    size_t count, cap;
    int64_t *tops; /* of each run of points */
    size_t top_cap;
    int64_t managed; /* the most that ever was; in no point */
};

/* Whether the device is such a one of the process's. 0 or an error. */
int driven_is(struct db *db, int64_t process, int64_t device, bool *is);
/* All that the driver gave there. 0 or an error; driven_clear in both cases. */
int driven_read(struct db *db, int64_t process, int64_t device, struct driven *out);
void driven_clear(struct driven *driven);
bool driven_is_valid(const struct driven *driven);

/* What was given behind the event `seq`, at `ns`; all zero before the first point. */
struct driven_point driven_at(const struct driven *driven, int64_t seq, int64_t ns);
/* The first highest point behind one moment up to another; what was there as it began counts, and
 * is then `sampled` at that time. */
struct driven_point driven_highest(const struct driven *driven, int64_t from_seq, int64_t from_ns,
                                   int64_t until_seq, int64_t until_ns);

/* Finds an instant as instant_find does, on such a device; NULL: the highest point of these steps.
 * *point is what was given then. */
int driven_find(struct db *db, const struct driven *driven, const char *text, int64_t first_step,
                int64_t last_step, struct instant *out, struct driven_point *point);

/* ---- who held it (driven_held.c) ---- */

enum driven_kind { /* as in driver_memory, and what the driver keeps */
                   DRIVEN_DEVICE,
                   DRIVEN_ARRAY,
                   DRIVEN_PHYSICAL,
                   DRIVEN_ASYNC,
                   DRIVEN_POOL,
                   DRIVEN_GRAPH,
                   DRIVEN_KINDS
};

struct driven_group {
    enum driven_kind kind;
    char *library;                 /* as people call it; NULL for what the driver keeps */
    char *call;                    /* NULL: not known */
    int64_t site;                  /* DRIVEN_NONE */
    char *shown;                   /* the site, as view site_short; NULL */
    int64_t before_bytes, bytes;   /* before: at the first of two instants, else 0 */
    int64_t before_pieces, pieces; /* 0: it is not counted in pieces */
};

struct driven_held {
    struct driven_group *groups; /* by the size of their change, the largest first */
    size_t count, cap;
    int64_t before_bytes, bytes;
};

/* A moment: behind the event `seq`, where the driver had given what *point says. */
struct driven_moment {
    int64_t seq;
    struct driven_point point;
};

/* What was held at a moment, and at one before it: NULL, nothing was. 0 or an error;
 * driven_held_clear in both cases. */
int driven_held_read(struct db *db, const struct driven *driven, const struct driven_moment *before,
                     const struct driven_moment *moment, struct driven_held *out);
void driven_held_clear(struct driven_held *held);
bool driven_held_is_valid(const struct driven_held *held);
const char *driven_kind_name(enum driven_kind kind); /* csv and json */
int64_t driven_change(const struct driven_group *group);

#endif
