/*
 * keyframe.h - what lives at each N events, so that the live set of an instant is found by
 * replaying N events and not the whole run.
 *
 * Due when at least max(keyframe_events, KEYFRAME_RATIO x living) events passed since the last one:
 * so keyframes never make up more than an eighth of the rows of blocks. Blocks of a process that
 * has ended are not in later keyframes, even though their rows say that they live.
 */
#ifndef TIDEMARK_RECORDER_KEYFRAME_H
#define TIDEMARK_RECORDER_KEYFRAME_H

#include <stdint.h>

struct block_pool;
struct ledger;

#define KEYFRAME_EVENTS 500000
#define KEYFRAME_RATIO 16
#define KEYFRAME_BEAT_ROWS 4096u /* well under a millisecond */

struct keyframes {   /* of a run */
    uint64_t events; /* at least so many between two; 0 = the default */
    uint64_t at;     /* events when the last one was written */
    /* A keyframe of millions takes a while: called again and again meanwhile. NULL: nobody. */
    void (*beat)(void *context);
    void *context;
};

/* Writes one if it is due, after so many events: all its rows or none. */
void keyframe_flush(struct keyframes *keyframes, const struct ledger *ledger,
                    const struct block_pool *pool, uint64_t events);

#endif
