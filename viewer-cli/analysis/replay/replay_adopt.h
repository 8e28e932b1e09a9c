/*
 * replay_adopt.h - what lived before the record began, in the allocator of a replay.
 */
#ifndef TIDEMARK_ANALYSIS_REPLAY_ADOPT_H
#define TIDEMARK_ANALYSIS_REPLAY_ADOPT_H

#include "replay_device.h"

struct replay_adopter {
    const struct replay_trace *trace;
    struct replay_device *device;
    struct alloc *alloc;
    uint64_t *addresses; /* of living blocks, filled */
    bool anew;           /* every block is asked for again */
};

/* Segments are taken over with the blocks that lie in them; what is between two blocks is free. A
 * block that lies in no segment, or over another, is asked for anew, in the order of addresses.
 * ERR_NOMEM as alloc_malloc, with *refusal. */
int replay_adopt(const struct replay_adopter *adopter, struct alloc_refusal *refusal);

#endif
