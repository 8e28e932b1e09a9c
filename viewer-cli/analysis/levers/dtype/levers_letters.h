/*
 * levers_letters.h - what autocast would make of each operation of a forward, as the helper saw it
 * in a graph (python/tidemark/_precision.py).
 *
 * The helper has a letter for each operation whose output has as many numbers, in the order of the
 * forward. Blocks of a forward and its loss that have as many bytes are these outputs, if there are
 * as many: then each gets its operation by its place.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_LETTERS_H
#define TIDEMARK_ANALYSIS_LEVERS_LETTERS_H

#include "levers_dtypes.h"
#include "levers_seen.h"

/* Blocks whose operation is not known otherwise are put into `dtypes`, and `count` is how many
 * these are. 0 or an error. */
int levers_letters_read(struct levers_seen *seen, struct levers_dtypes *dtypes, size_t *count);

#endif
