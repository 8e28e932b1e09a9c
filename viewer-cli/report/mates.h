/*
 * mates.h - which processes and devices of two databases belong together.
 */
#ifndef TIDEMARK_VIEWER_MATES_H
#define TIDEMARK_VIEWER_MATES_H

#include <stddef.h>

#include "report.h"

/* (*mates)[i]: which scope of b is the partner of scope i of a, DIFF_ALONE; to be freed, in any
 * case. 0 or an error. */
int mates_find(const struct report *a, const struct report *b, size_t **mates);

/* Notes what in either has no partner; a is the one that talks. */
void mates_note_alone(struct report *a, const struct report *b, const size_t *mates);

#endif
