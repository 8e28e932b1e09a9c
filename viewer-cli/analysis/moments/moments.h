/*
 * moments.h - what lived on one device at many moments of one process: enough to draw memory over
 * time by kind, module, call site and phase, without asking the database once more.
 *
 * A class is what blocks have in common: what they are for, their call site, their module, and the
 * kind of phase that they were born in. Kind and module are decided as by the reports (category.h,
 * modules.h).
 *
 * Where the blocks are few (`exact`) each of them is there, and every birth and free is a moment.
 * Else moments are chosen: the highest points and the ends of phases, refused requests, and moments
 * spread evenly over the events; of each moment it is known what each class holds, as changes from
 * the moment before, and the largest blocks are there.
 *
 * Invariants (moments_is_valid):
 * - moments grow strictly in seq, and do not run backwards in ns; each `bytes` and `blocks` is what
 *   lives after that event;
 * - changes come by moment, then by class, and none is of nothing; up to any moment the changes of
 *   a class add up to what it holds there: never less than nothing; all classes together hold what
 *   the moment says. Where `exact`, there are no changes: births and frees of the blocks are they;
 * - blocks come by seq; each has a class. Where it is not exact, the `top` largest blocks of each
 *   moment are among them;
 * - class 0 is of blocks whose class had no room of its own (`folded` of them), for the rest
 * unused.
 */
#ifndef TIDEMARK_ANALYSIS_MOMENTS_H
#define TIDEMARK_ANALYSIS_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "course.h"
#include "db.h"
#include "map.h"
#include "modules.h"
#include "purpose.h"

#define MOMENTS_NONE INT64_MIN

struct moment {
    int64_t seq, ns; /* ns: of a phase's peak or end its time, else of the last birth before it */
    int64_t bytes, blocks;
    bool kept; /* never given up where there are too many changes */
};

struct moments_class {
    enum purpose purpose;
    enum course_kind born;
    int64_t site;  /* MOMENTS_NONE */
    size_t module; /* its place in modules.nodes; 0 = none */
};

struct moments_change {
    uint32_t moment, class;
    int64_t bytes, blocks;
};

struct moments_block {
    int64_t seq, size, alloc_ns;
    int64_t requested;         /* MOMENTS_NONE */
    int64_t free_seq, free_ns; /* MOMENTS_NONE: it lives */
    uint32_t class;
    int64_t site; /* of its own, where its class had no room */
};

/* How much there may be. */
struct moments_limits {
    size_t exact;   /* blocks */
    size_t moments; /* about */
    size_t changes, classes;
    unsigned top; /* <= MOMENTS_TOP */
};
#define MOMENTS_TOP 32u

struct moments {
    bool exact;
    struct moments_limits limits;
    struct modules modules; /* the nodes; they hold nothing */
    struct moment *moments;
    size_t count, cap;
    struct moments_class *classes;
    size_t class_count, class_cap;
    int64_t folded;
    struct moments_change *changes;
    size_t change_count, change_cap;
    struct moments_block *blocks;
    size_t block_count, block_cap;
    int64_t births; /* of the process on the device */
};

/* 0 or an error; moments_clear in both cases. */
int moments_read(struct db *db, int64_t process, int64_t device,
                 const struct moments_limits *limits, struct moments *out);
void moments_clear(struct moments *moments);
bool moments_is_valid(const struct moments *moments);

#endif
