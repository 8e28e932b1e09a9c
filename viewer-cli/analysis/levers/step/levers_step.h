/*
 * levers_step.h - the steps around a peak, block by block, and how high they would have gone had
 * some blocks lived otherwise.
 *
 * A window of steps is what lived when it began, then births and ends in the order of their events.
 * It has all steps that were asked about, with what lies between them; of a longer recording the
 * step of the peak and as many on both sides as LEVERS_MOST events have room for. A change takes a
 * block away for a while (from an event on, until another), lets it live on, or adds bytes of its
 * own. The level that results is the recorded one and the sum of all changes so far: two ordered
 * lists are walked side by side, however many blocks there are. Where a request was refused, the
 * level of that moment is what a change has to lower, and stands for the highest.
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

#include "category.h"
#include "db.h"
#include "levers_phases.h"
#include "peak.h"
#include "purpose.h"

#define LEVERS_MOST 1000000 /* blocks of a window; of a step that is larger nothing is said */

struct levers_block {
    int64_t seq, end; /* LEVERS_NEVER */
    int64_t size;
    int64_t asked;  /* as requested; where that is not known, the size */
    int64_t site;   /* GROUP_NONE */
    int64_t module; /* GROUP_NONE: of none, or not known */
    int64_t tag;    /* tag.id; GROUP_NONE */
    enum purpose purpose;
    bool tagged; /* a tag says it */
};

struct levers_event {
    int64_t seq, change;
};

struct levers_step {
    int64_t step;               /* of the peak */
    int64_t first, last;        /* steps of the window */
    bool whole;                 /* these are all that were asked about */
    int64_t begin, end;         /* events of the window */
    int64_t own_begin, own_end; /* events of the step of the peak */
    int64_t peak;               /* what lives at the peak lives after this event */
    int64_t moment;             /* the event of a refused request; LEVERS_NEVER: none was */
    struct levers_block *blocks;
    size_t count, cap, older;
    struct levers_phases phases;
    struct levers_event *events;
    size_t event_count;
    int64_t base, highest;
    bool cut_short; /* an exception or the end of the process ended the step of the peak */
};

/* Of a step that was cut short: activations whose like was held in the last whole step count as
 * held. 0 or an error. */
int levers_hold_as_before(struct db *db, const struct peak *peak, struct levers_step *step);

/* 0 or an error, ERR_LIMIT where the step has too many blocks; levers_step_clear in all cases. */
int levers_step_read(struct db *db, const struct peak *peak, struct levers_step *out);
/* Of a program without steps: all that it did; ERR_LIMIT where that is too much, ERR_NOTFOUND where
 * nothing is known of it. */
int levers_step_read_run(struct db *db, const struct peak *peak, struct levers_step *out);
void levers_step_clear(struct levers_step *step);
bool levers_step_is_valid(const struct levers_step *step);

bool levers_at_peak(const struct levers_step *step, const struct levers_block *block);
/* The place of the first block that is born at `seq` or later; `count` if there is none. */
size_t levers_first_from(const struct levers_step *step, int64_t seq);

/* ---- changes ---- */

enum levers_how {
    LEVERS_CUT,    /* the block is not there in [from, to) */
    LEVERS_LONGER, /* it is there in [end, to) */
    LEVERS_PART,   /* as long as it is there, it has `bytes` thousandths of its own */
    LEVERS_EXTRA,  /* `bytes` more, or less, in [from, to) */
    LEVERS_SPIKE   /* `bytes` more for a moment, as the event `from` begins */
};

struct levers_change {
    size_t block; /* of the first three */
    int64_t from, to, bytes;
    enum levers_how how;
};

struct levers_edit { /* all zero is empty */
    struct levers_change *changes;
    size_t count, cap;
};

/* False without memory. `from` may be before its birth, `to` after its end. */
bool levers_cut(struct levers_edit *edit, size_t block, int64_t from, int64_t to);
bool levers_lengthen(struct levers_edit *edit, size_t block, int64_t to);
/* Of parts of parts the product counts. */
bool levers_part(struct levers_edit *edit, size_t block, int64_t thousandths);
bool levers_extra(struct levers_edit *edit, int64_t bytes, int64_t from, int64_t to);
bool levers_spike(struct levers_edit *edit, int64_t bytes, int64_t at);
/* All changes of `other`, too. Then what is cut twice counts once. */
bool levers_unite(struct levers_edit *edit, const struct levers_edit *other);
void levers_edit_clear(struct levers_edit *edit);

/* The highest level with these changes, and the event that leads to it first; `at` may be NULL. 0
 * or an error. */
int levers_highest(const struct levers_step *step, const struct levers_edit *edit, int64_t *out,
                   int64_t *at);

#endif
