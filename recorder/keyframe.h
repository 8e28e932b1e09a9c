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

struct state;

#define KEYFRAME_EVENTS 500000
#define KEYFRAME_RATIO 16
#define KEYFRAME_BEAT_ROWS 4096u /* well under a millisecond */

void keyframe_flush(struct state *state); /* writes one if it is due: all its rows or none */
/* A keyframe of millions takes a while: `beat` is called again and again meanwhile. NULL: nobody.
 */
void keyframe_beat(struct state *state, void (*beat)(void *context), void *context);

#endif
