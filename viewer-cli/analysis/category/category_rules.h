/*
 * category_rules.h - what category.c asks about a process, as category_rules.c read it.
 */
#ifndef TIDEMARK_ANALYSIS_CATEGORY_RULES_H
#define TIDEMARK_ANALYSIS_CATEGORY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "category.h"
#include "category_copies.h"
#include "category_library.h"
#include "category_sharing.h"
#include "map.h"
#include "phase_kind.h"

#define CATEGORY_NO_PHASE UINT32_MAX
#define CATEGORY_NO_STEP UINT32_MAX

/* What tag.category says; anything else is "other". */
enum category_tag {
    TAG_NONE,
    TAG_PARAMETER,
    TAG_GRADIENT,
    TAG_OPTIMIZER_STATE,
    TAG_ACTIVATION,
    TAG_INPUT,
    TAG_BUCKET,
    TAG_WORKSPACE,
    TAG_OTHER
};

/* Index of a phase: its place in `phases`, by id. */
struct category_phase {
    int64_t id, parent; /* parent: CATEGORY_UNKNOWN */
    uint32_t step;      /* index of its bounds, CATEGORY_NO_STEP */
    uint16_t kind;      /* enum phase_kind; from PHASE_KIND_UNKNOWN on, of `kinds` */
    uint16_t role;      /* as view phase_role: a user's phase counts as what is around it */
};

struct category_stretch {
    int64_t begin_seq;
    uint32_t phase; /* index, CATEGORY_NO_PHASE */
};

/* Ends: CATEGORY_UNKNOWN = one of the phases has not ended; of backwards also: there was none, or
 * one was cut short. cut_seq: where an exception or the end of the process did that to a phase. */
struct category_bounds {
    int64_t step;
    int64_t begin_seq, end_seq, backward_end_seq;
    int64_t cut_seq;           /* CATEGORY_UNKNOWN = to none */
    int64_t first_id, last_id; /* of its phases; there may be others between */
    bool open, backward_open;
};

/*
 * Invariants (category_is_valid): ids of phases ascend strictly, as do begin_seq of stretches;
 * indices lie inside of their arrays; each step has one element of `steps`, whose ids are those of
 * two of the phases.
 */
struct category_rules {
    struct db *db;
    int64_t process;
    bool kept; /* by the connection */
    struct category_phase *phases;
    size_t phase_count, phase_cap;
    struct category_stretch *stretches;
    size_t stretch_count, stretch_cap;
    size_t near_birth, near_end; /* no more than stretch_count: where the last question ended */
    struct category_bounds *steps;
    size_t step_count, step_cap;
    struct map step_index; /* step to index */
    struct map tags;       /* tag.id to tag.category, of those that were asked for */
    char **kinds;          /* names of those that are not known */
    size_t kind_count, kind_cap;
    char **texts; /* rules that came up */
    size_t text_count, text_cap;
    struct map text_index; /* verdict, role, role of the end: to text */
    struct category_library library;
    struct category_copies copies;
    struct category_sharing sharing;
    /* The run, as view run_bounds. */
    int64_t first_seq, last_seq, first_step, last_step, optimizer_step;
    bool ended_well; /* the process, by itself */
    bool run_open;
    int64_t early_id; /* phases outside of steps that began before first_seq have no higher one */
};

const char *category_kind_name(const struct category_rules *rules, uint16_t kind);
/* NULL: there is no such step. */
const struct category_bounds *category_step(const struct category_rules *rules, int64_t step);
/* Of the phase with that id; CATEGORY_NO_PHASE. */
uint32_t category_phase_index(const struct category_rules *rules, int64_t id);

#endif
