/*
 * levers_phases.h - the phases of a window of steps, and which of a kind is the next or the last.
 * An optimizer's phase around a closure with forward and backward is what comes behind them.
 *
 * Invariants (levers_phases_is_valid): phases by begin; each row of `of` has the outermost phases
 * of its kind, in that order.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_PHASES_H
#define TIDEMARK_ANALYSIS_LEVERS_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"

#define LEVERS_NEVER INT64_MAX

enum levers_phase_kind { /* those that levers ask about */
                         LEVERS_OTHER_PHASE,
                         LEVERS_ZERO_GRAD,
                         LEVERS_FORWARD,
                         LEVERS_LOSS,
                         LEVERS_BACKWARD,
                         LEVERS_OPTIMIZER,
                         LEVERS_RECOMPUTE,
                         LEVERS_PHASE_KINDS
};

struct levers_phase {
    int64_t id, parent; /* GROUP_NONE */
    int64_t step;       /* GROUP_NONE */
    int64_t begin, end; /* LEVERS_NEVER */
    enum levers_phase_kind kind;
    bool evaluates; /* a call of a model in evaluation mode */
    char *name;
};

struct levers_phase_row {
    size_t *at; /* places in `phases` */
    size_t count, cap;
};

struct levers_phases { /* all zero is empty */
    struct levers_phase *phases;
    size_t count, cap;
    struct levers_phase_row of[LEVERS_PHASE_KINDS];
    bool recomputes; /* one of them, outermost or not, is of that kind */
};

/* Those of the process as a whole that begin in [begin, end]. 0 or an error; levers_phases_clear in
 * both cases. */
int levers_phases_read(struct db *db, int64_t process, int64_t begin, int64_t end,
                       struct levers_phases *out);
void levers_phases_clear(struct levers_phases *phases);
bool levers_phases_is_valid(const struct levers_phases *phases);

/* Outermost ones: the first of that kind that begins after `seq`; the last one that had begun and
 * not ended at `seq`; the last that ended before `seq`. NULL = none. */
const struct levers_phase *levers_phase_after(const struct levers_phases *phases,
                                              enum levers_phase_kind kind, int64_t seq);
const struct levers_phase *levers_phase_around(const struct levers_phases *phases,
                                               enum levers_phase_kind kind, int64_t seq);
const struct levers_phase *levers_phase_before(const struct levers_phases *phases,
                                               enum levers_phase_kind kind, int64_t seq);
/* Outermost ones of that kind and step. */
size_t levers_phase_count(const struct levers_phases *phases, enum levers_phase_kind kind,
                          int64_t step);
/* The innermost one of any kind at `seq`. */
const struct levers_phase *levers_phase_at(const struct levers_phases *phases, int64_t seq);
/* Of forward or loss. */
bool levers_computes(const struct levers_phases *phases, int64_t seq);

#endif
