/*
 * living.h - the blocks of one process on one device that lived at an instant.
 *
 * The last keyframe before the instant, and what was born since, less what was freed meanwhile:
 * some thousand rows by their keys, whatever the length of the run.
 */
#ifndef TIDEMARK_ANALYSIS_LIVING_H
#define TIDEMARK_ANALYSIS_LIVING_H

#include <stdbool.h>
#include <stdint.h>

#include "category.h"
#include "db.h"

#define LIVING_NONE INT64_MIN

struct living_block {
    int64_t seq, size;
    int64_t requested; /* LIVING_NONE */
    int64_t site;      /* LIVING_NONE */
    int64_t phase;     /* of its birth; LIVING_NONE */
    int64_t tag;       /* tag.id, LIVING_NONE */
    int64_t alloc_ns;
    int64_t free_seq; /* LIVING_NONE: it lives to the end */
    int64_t address;
    int64_t heap;         /* heap.id */
    int64_t segment;      /* segment.seq, LIVING_NONE */
    int64_t module;       /* module.id, LIVING_NONE */
    enum purpose purpose; /* as view allocation_category says */
    enum category_rule by;
    const char *rule; /* that in words; valid during the call */
};

/* False: no memory. */
typedef bool living_see(void *self, const struct living_block *block);

/* Calls `see` for each block that lives after the event `seq`, in no order. 0 or an error. */
int living_read(struct db *db, int64_t process, int64_t device, int64_t seq, living_see *see,
                void *self);
/* The same, of an instant that will be asked about again: its rows are kept (living_kept.h). */
int living_read_kept(struct db *db, int64_t process, int64_t device, int64_t seq, living_see *see,
                     void *self);
/* Only those of them that do not live after `other`, which is earlier or later: they are allocated
 * between the two, or freed there. Both are moments of the process's life: what was live as it
 * ended is freed by no event. */
int living_read_unlike(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t other,
                       living_see *see, void *self);

#endif
