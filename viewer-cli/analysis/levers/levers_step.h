/*
 * levers_step.h - the step of a peak, block by block, and how high it would have gone had some
 * blocks lived otherwise.
 *
 * A step is what lived when it began, then births and ends in the order of their events. A change
 * takes a block away for a while (from an event on, until another), or lets it live on. The level
 * that results is the recorded one and the sum of all changes so far: two ordered lists are walked
 * side by side, however many blocks there are. Where a request was refused, the level of that
 * moment is what a change has to lower, and stands for the highest.
 *
 * Invariants (levers_step_is_valid): blocks by seq, each once; those before `older` were born
 * before `begin` and alive then; events by seq; the events lead from `base` to what lives at the
 * end; `highest` is the highest level on the way.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_STEP_H
#define TIDEMARK_ANALYSIS_LEVERS_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "peak.h"
#include "purpose.h"

#define LEVERS_NEVER INT64_MAX
#define LEVERS_NOT_AT_PEAK PURPOSES
#define LEVERS_MOST 1000000 /* blocks of a step; of larger ones nothing is said */

struct levers_block {
    int64_t seq, end; /* LEVERS_NEVER */
    int64_t size;
    int64_t asked;        /* as requested; where that is not known, the size */
    int64_t site;         /* GROUP_NONE */
    enum purpose purpose; /* of what lives at the peak; else LEVERS_NOT_AT_PEAK, not looked up */
    bool tagged;          /* a tag says it */
};

struct levers_phase {
    int64_t id, parent; /* GROUP_NONE */
    int64_t begin, end; /* LEVERS_NEVER */
    char *kind, *name;
};

struct levers_event {
    int64_t seq, change;
};

struct levers_step {
    int64_t step, begin, end; /* events of the step */
    int64_t peak;             /* what lives at the peak lives after this event */
    int64_t moment;           /* the event of a refused request; LEVERS_NEVER: none was */
    struct levers_block *blocks;
    size_t count, cap, older;
    struct levers_phase *phases; /* of the step and of the process as a whole, by begin */
    size_t phase_count, phase_cap;
    struct levers_event *events;
    size_t event_count;
    int64_t base, highest;
    bool cut_short; /* an exception or the end of the process ended it */
};

/* Of a step that was cut short: activations whose like was held in the last whole step count as
 * held. 0 or an error. */
int levers_hold_as_before(struct db *db, const struct peak *peak, struct levers_step *step);

/* 0 or an error, ERR_LIMIT where the step has too many blocks; levers_step_clear in all cases. */
int levers_step_read(struct db *db, const struct peak *peak, struct levers_step *out);
void levers_step_clear(struct levers_step *step);
bool levers_step_is_valid(const struct levers_step *step);

/* The first outermost phase of that kind that begins after `seq`; the last one that had begun at
 * `seq`; the one that had begun and not ended. NULL = none. */
const struct levers_phase *levers_phase_after(const struct levers_step *step, const char *kind,
                                              int64_t seq);
const struct levers_phase *levers_phase_around(const struct levers_step *step, const char *kind,
                                               int64_t seq);

/* ---- changes ---- */

struct levers_change { /* the block is not there in [from, to); or is there in [end, to) */
    size_t block;
    int64_t from, to;
    bool longer;
};

struct levers_edit { /* all zero is empty */
    struct levers_change *changes;
    size_t count, cap;
};

/* False without memory. `from` may be before its birth, `to` after its end. */
bool levers_cut(struct levers_edit *edit, size_t block, int64_t from, int64_t to);
bool levers_lengthen(struct levers_edit *edit, size_t block, int64_t to);
void levers_edit_clear(struct levers_edit *edit);

/* The highest level with these changes. 0 or an error. */
int levers_highest(const struct levers_step *step, const struct levers_edit *edit, int64_t *out);

/* ---- births of a stretch ---- */

struct levers_birth {
    int64_t seq, asked, site;
};

struct levers_births { /* by bytes asked for, site, seq */
    struct levers_birth *births;
    size_t count, cap;
};

/* ERR_LIMIT: there are too many. levers_births_clear in all cases. */
int levers_births_read(struct db *db, const struct peak *peak, int64_t begin, int64_t end,
                       struct levers_births *out);
void levers_births_clear(struct levers_births *births);
/* Those that asked for so much at this site: how many, and the first. */
size_t levers_births_like(const struct levers_births *births, int64_t asked, int64_t site,
                          const struct levers_birth **first);

#endif
