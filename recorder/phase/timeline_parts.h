/*
 * timeline_parts.h - what the files that make a timeline's rows share.
 */
#ifndef TIDEMARK_RECORDER_TIMELINE_PARTS_H
#define TIDEMARK_RECORDER_TIMELINE_PARTS_H

#include "timeline.h"

/* timeline_put.c. What a phase inside has reached, its owner has: false without memory. Devices
 * that came later begin with nothing. */
bool timeline_fold_parts(struct timeline_open *open, const struct timeline_part *parts,
                         size_t count);
/* With `ended` NULL as it stands. Phases of the program's own have their parts from elsewhere, and
 * are settled once the writer has met their end: where phases cross they are closed before. */
void timeline_put_phase(struct phases *phases, const struct timeline_writer *writer,
                        const struct timeline_open *open, const struct timeline_end *end,
                        const char *ended);
/* A stretch of the innermost open phase begins, unless one goes on. */
void timeline_put_stretch(struct phases *phases, struct timeline_writer *writer, int64_t begin_seq);

/* timeline_open.c. All but the outermost `keep` end. */
void timeline_close_down(struct phases *phases, struct timeline_writer *writer, size_t keep,
                         const struct timeline_end *end, const char *ended);
/* The item becomes the innermost; false without memory. */
bool timeline_open_item(struct phases *phases, struct timeline_writer *writer,
                        const struct timeline_item *item, const struct timeline_stretch *stretch,
                        const struct label_stretch *label);
/* A phase of the program's own is met: the first time it is counted, and again if phases cross. */
void timeline_open_user(struct phases *phases, const struct timeline_writer *writer,
                        struct timeline_open *open);
/* Gives it a step and its number there. Where the program counts, its step was known as it began.
 */
void timeline_count_user(struct phases *phases, const struct timeline_writer *writer,
                         struct timeline_open *open, int64_t step);
/* Those that go on beyond the step in which they began; what is between marks does not tell. */
void timeline_leave_step(struct phases *phases, struct timeline_writer *writer,
                         const struct label_stretch *label, int64_t step);
void timeline_free_user(struct timeline *timeline, size_t number);
int64_t timeline_step_of(const struct timeline *timeline, const struct timeline_stretch *stretch,
                         const struct label_stretch *label);
/* The same phases are open in `into`; false without memory. */
bool timeline_copy_writer(struct timeline_writer *into, const struct timeline_writer *from);

#endif
