/*
 * plan.h - what `tidemark plan` was asked, what it tried and what it found.
 *
 * Tries are runs of the program: rehearsals, or recordings on a CPU. Answers rest on them: there is
 * one for each combination of the names that are not searched and each card. A card is a GPU whose
 * memory is in question. Cards of one capability share their tries: those run on the card of it
 * that has most memory, its `model`, and what they say about the others is known by replay.
 *
 * Invariants (plan_is_valid): a card's model has its capability and no less memory, and is its own
 * model; an answer that is found has a largest place, below the one that does not fit; tries of an
 * answer are places in the list of tries, or PLAN_NONE.
 */
#ifndef TIDEMARK_VIEWER_PLAN_H
#define TIDEMARK_VIEWER_PLAN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command.h"
#include "gpu_cards.h"
#include "plan_scale.h"
#include "plan_search.h"
#include "plan_try.h"
#include "plan_vary.h"
#include "profile.h"

#define PLAN_NONE SIZE_MAX
#define PLAN_CARDS GPU_CARDS_MOST
#define PLAN_SITES 8 /* call sites that are shown with their laws */

enum plan_way { PLAN_AUTO, PLAN_REHEARSAL, PLAN_SCALING };

struct plan_options {
    struct option_texts vary, env;
    const char *gpu, *output;
    int64_t memory, reserve; /* 0: not given */
    int64_t gpus, steps;
    int way; /* enum plan_way */
    int format;
    bool no_colour;
};

struct plan_card {
    struct profile profile;  /* with the memory in question */
    char gpu[GPU_CARD_NAME]; /* as --gpu takes it */
    size_t model;            /* place of the card that is rehearsed in its stead, or its own */
};

enum plan_state {
    PLAN_OPEN,  /* not known: a try failed, or we were asked to end */
    PLAN_FOUND, /* the largest that fits; places beyond it do not, or there are none */
    PLAN_EMPTY  /* nothing fits */
};

struct plan_answer {
    struct vary_at at; /* the combination; of the searched name the largest place, where found */
    size_t card;
    enum plan_state state;
    size_t largest, refused; /* places of the searched name, PLAN_NONE; as far as is known */
    size_t largest_try, refused_try;   /* PLAN_NONE: no try of its own says so */
    bool replayed;                     /* known by replay of what was rehearsed on another card */
    int64_t allocated, reserved, need; /* at the largest; SEEN_NONE */
    int64_t step;                      /* SEEN_NONE */
    char *phase;                       /* NULL */
    struct scale_peak peak;            /* of a scaled run */
};

struct plan {
    const struct command *command;
    const struct plan_options *options;
    char *const *arguments;
    struct vary vary;
    struct vary_name alone; /* what is searched where nothing is: one value */
    enum plan_way way;
    char folder[PATH_MAX];
    struct plan_run run;
    struct plan_card cards[PLAN_CARDS];
    size_t card_count;
    bool several; /* --gpu all, or a list */
    struct plan_try *tries;
    size_t try_count, try_cap;
    struct plan_answer *answers;
    size_t answer_count, answer_cap;
    bool over;      /* no more tries: the first failed, or we were asked to end */
    const char *no; /* why nothing can be found at all; NULL */
};

/* ---- plan_setup.c ---- */

/* Reads the options. 0, or an exit code after a message. */
int plan_setup(struct plan *plan);
/* Makes the folder of the recordings. Likewise. */
int plan_make_folder(struct plan *plan);
void plan_clear(struct plan *plan);
bool plan_is_valid(const struct plan *plan);

/* ---- plan_find.c: by rehearsal ---- */

/* Each returns 0 or an error. */
int plan_find(struct plan *plan);
/* One more try; *place is its number. A failure of the program is no error. */
int plan_try(struct plan *plan, const struct plan_machine *machine, const struct vary_at *at,
             size_t card, size_t *place);
/* It ended well and ran no training step, and others did: a batch that is larger than the data,
 * say. Nothing is known of such a value. */
bool plan_is_stepless(const struct plan *plan, const struct plan_try *it);
struct plan_answer *plan_new_answer(struct plan *plan, const struct vary_at *at, size_t card);
/* The name that is searched, or one with a single value. */
const struct vary_name *plan_searched(const struct plan *plan);
void plan_set_place(const struct plan *plan, struct vary_at *at, size_t place);
size_t plan_place(const struct plan *plan, const struct vary_at *at);
/* Places from here on cannot fit: they do not with smaller numbers, or on a larger card. */
size_t plan_bound(const struct plan *plan, const struct vary_at *at, size_t card);
int64_t plan_memory(const struct plan *plan, size_t card); /* without what is set aside */
int64_t plan_room(const struct plan *plan, size_t card);   /* nor the context: the allocator's */

/* Why the program would fail on that card whatever its memory, as its tries say; "". */
const char *plan_no_kernels(const struct plan *plan, size_t card);

/* ---- plan_scaled.c: by scaling ---- */

int plan_find_scaled(struct plan *plan);

/* ---- plan_print.c, plan_progress.c ---- */

int plan_print(struct plan *plan);
void plan_progress_begin(struct plan *plan);
void plan_progress_try(struct plan *plan, const struct plan_try *it); /* it is over */

#endif
