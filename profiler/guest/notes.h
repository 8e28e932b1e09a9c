/*
 * notes.h - what is live in this process, and why something is not.
 *
 * A note is either the name of a source ("torch-cpu") or a sentence. It goes out once for each ring
 * as a MARK with EVENT_F_SOURCE: a forked child that records says again what its parent said, for
 * it has the same sources. What a fork ends is said of the process alone that it was given in.
 */
#ifndef TIDEMARK_PROFILER_NOTES_H
#define TIDEMARK_PROFILER_NOTES_H

#include <stdbool.h>

/* Texts are copied, and cut at 160 bytes; one that was given before is not stored again. */
void notes_live(const char *source);
void notes_why_not(const char *sentence);
/* Of this process alone. Only while guest_live(). */
void notes_live_here(const char *source);
void notes_why_not_here(const char *sentence);
/* Sends what this ring has not got yet. Only while guest_live(). */
void notes_send(void);

#endif
