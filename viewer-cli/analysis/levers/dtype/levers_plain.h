/*
 * levers_plain.h - operations without a name that most likely compute in the dtype they are given.
 *
 * Code that casts to float32 by itself leaves no trace where all is float32, but it does so for
 * sums and angles: norms, softmax, rotations, what goes into a loss. So a block is plain if it was
 * made in a module's own `forward`, on a line that makes no sums of rows, and a product comes
 * behind it in that forward. That is no proof: it says that a change is worth naming, and a figure
 * in which it counts is a bound.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_PLAIN_H
#define TIDEMARK_ANALYSIS_LEVERS_PLAIN_H

#include "levers_dtypes.h"
#include "levers_seen.h"
#include "map.h"

struct levers_plain {     /* all zero is empty */
    struct map sums;      /* sites that make sums of rows */
    struct map behind;    /* begins of forwards, to the event of their last product */
    struct map uncertain; /* modules with something that is neither plain nor known */
};

/* 0 or an error; levers_plain_clear in both cases. */
int levers_plain_read(struct levers_seen *seen, const struct levers_dtypes *dtypes,
                      struct levers_plain *out);
void levers_plain_clear(struct levers_plain *plain);

/* Of a block of forward that nobody's name is known of. */
bool levers_is_plain(const struct levers_seen *seen, const struct levers_dtypes *dtypes,
                     const struct levers_plain *plain, const struct levers_block *block);
/* Of one of backward: all that its module made was plain, or known. */
bool levers_is_of_plain(const struct levers_plain *plain, const struct levers_block *block);

#endif
