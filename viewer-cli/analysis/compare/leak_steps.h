/*
 * leak_steps.h - where the steps of a process begin, and which have an evaluation behind them.
 *
 * The look is taken as the last complete step ends. An evaluation that comes behind it tells what
 * the one before it left for good: what lived on there, while the same call sites left more.
 *
 * Invariants: the steps come in the order of begin_seq, what was left later by site, LIVING_NONE
 * first; there is none of it where no evaluation came behind the look.
 */
#ifndef TIDEMARK_ANALYSIS_LEAK_STEPS_H
#define TIDEMARK_ANALYSIS_LEAK_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "living.h"

struct leak_step {
    int64_t step, begin_seq;
    bool evaluated; /* before the look, and behind this step */
};

struct leak_later {                        /* a block that the later evaluation left */
    int64_t site, address, size, free_seq; /* LIVING_NONE: no site; never freed */
};

struct leak_steps {
    struct leak_step *steps;
    size_t count, cap;
    int64_t later_end; /* where the last evaluation behind the look ended */
    struct leak_later *later;
    size_t later_count, later_cap;
};

/* 0 or an error; leak_steps_clear in both cases. */
int leak_steps_read(struct db *db, int64_t process, int64_t look, struct leak_steps *out);
void leak_steps_clear(struct leak_steps *steps);
/* The last that had begun; NULL: none. */
const struct leak_step *leak_step_before(const struct leak_steps *steps, int64_t seq);
/* A block of an evaluation before the look, which the later one did not replace. */
bool leak_steps_outlived(const struct leak_steps *steps, const struct living_block *block);
/* What the later evaluation left of that site; NULL: nothing. */
const struct leak_later *leak_steps_later(const struct leak_steps *steps, int64_t site,
                                          size_t *count);

#endif
