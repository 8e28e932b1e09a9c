/*
 * derive.h - tables `keyframe` and `curve`, made anew from the facts.
 *
 * Blocks are read once, in the order of their births; those that live are kept in a heap by when
 * they die, so that births and deaths come in the order of the run. Memory is that of what lived at
 * once, as in the recorder, never that of the whole run.
 *
 * `allocated` over time follows from the blocks if all of them are there: none were thinned and
 * none are missing. `reserved` follows from segments and mapped pages if they add up to what the
 * phases say was reserved when they ended; a source may have told its own sums instead, and those
 * stand nowhere but in the curve. Where the facts are not enough, the old rows are taken: the
 * finest level that is whole, or, if none is, the finest with its gaps closed.
 *
 * Keyframes are put where the recorder would have put them. Blocks of a process that has ended are
 * in no keyframe behind its last event.
 */
#ifndef TIDEMARK_RECORDER_DERIVE_H
#define TIDEMARK_RECORDER_DERIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"

enum derive_way {
    DERIVE_REBUILT, /* from the facts: exact */
    DERIVE_KEPT,    /* the old rows, whole: as they were recorded */
    DERIVE_MENDED,  /* the old rows, with gaps */
    DERIVE_PART,    /* from the facts, some of which are missing */
    DERIVE_LOST,    /* nothing tells it, though it was known */
    DERIVE_WAYS
};

struct derive_options {
    struct db *facts; /* also has the old rows of `curve`; */
    struct db *out;   /* open for writing, may be the same */
    bool blocks_whole;
    bool segments_whole;
    bool curve_whole;
    bool frames_as_told;      /* keyframes where `facts` has them, for comparing */
    uint64_t keyframe_events; /* 0 = the recorder's */
};

struct derive_result {
    uint64_t blocks, keyframes, keyframe_rows;
    uint64_t allocated[DERIVE_WAYS]; /* heaps */
    uint64_t reserved[DERIVE_WAYS];  /* process x device, those of which it was known */
    const char *broken; /* with ERR_CORRUPT: the table whose rows cannot be gone through; or NULL */
};

/* 0 or an error, of which db_message of `facts` or `out` has the text (*from_out). */
int derive_rebuild(const struct derive_options *options, struct derive_result *result,
                   bool *from_out);

/* Do the derived tables of `facts` say what its facts say? `scratch` is a new database; *what is
 * set to the first table that does not, or NULL; with ERR_CORRUPT also, where that is known. */
int derive_compare(struct db *facts, struct db *scratch, const char **what, bool *from_scratch);

#endif
