/*
 * leak_steps.h - where the steps of a process begin, and which have an evaluation behind them.
 *
 * The look is taken as the last complete step ends. An evaluation that comes behind it tells what
 * the one before it left for good: what lived on there, while the same call sites left more.
 *
 * Invariants: the steps come in the order of begin_seq; later_sites is empty where no evaluation
 * came behind the look.
 */
#ifndef TIDEMARK_ANALYSIS_LEAK_STEPS_H
#define TIDEMARK_ANALYSIS_LEAK_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "living.h"
#include "map.h"

struct leak_step {
    int64_t step, begin_seq;
    bool evaluated; /* before the look, and behind this step */
};

struct leak_steps {
    struct leak_step *steps;
    size_t count, cap;
    int64_t later_end; /* where the last evaluation behind the look ended */
    struct map
        later_sites; /* of what it had left then, to the address of one; LIVING_NONE is one */
};

/* 0 or an error; leak_steps_clear in both cases. */
int leak_steps_read(struct db *db, int64_t process, int64_t look, struct leak_steps *out);
void leak_steps_clear(struct leak_steps *steps);
/* The last that had begun; NULL: none. */
const struct leak_step *leak_step_before(const struct leak_steps *steps, int64_t seq);
/* A block of an evaluation before the look, which the later one did not replace. */
bool leak_steps_outlived(const struct leak_steps *steps, const struct living_block *block);
/* Of a block of that site which the later evaluation left; false: it left none. */
bool leak_steps_later(const struct leak_steps *steps, int64_t site, int64_t *address);

#endif
