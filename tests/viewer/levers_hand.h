/*
 * levers_hand.h - a step for tests of what levers ask about it: one forward, one backward, and
 * blocks that a test lists. No recording is behind it.
 */
#ifndef TIDEMARK_TESTS_LEVERS_HAND_H
#define TIDEMARK_TESTS_LEVERS_HAND_H

#include "levers_step.h"

enum { HAND_FORWARD = 100, HAND_BACKWARD = 300, HAND_END = 600 };

#define KIB(n) ((int64_t)(n)*1024)

struct hand_block { /* by seq */
    int seq, end, kib;
    int module, site; /* 0: none */
};

/* Up to the first block without bytes. Forward lasts until backward begins; levers_step_clear. */
void hand_step(const struct hand_block *blocks, struct levers_step *out);
/* What happens to these blocks, so that there is a level. Those before forward are there when it
 * begins. */
void hand_events(struct levers_step *step);
/* Its block that is born then. */
size_t hand_at(const struct levers_step *step, int64_t seq);

#endif
