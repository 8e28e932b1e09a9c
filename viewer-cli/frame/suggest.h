/*
 * suggest.h - "did you mean": the nearest of some known words to a mistyped one.
 */
#ifndef TIDEMARK_VIEWER_SUGGEST_H
#define TIDEMARK_VIEWER_SUGGEST_H

#include <stddef.h>

/* How many letters must be inserted, left out, replaced, or swapped with a neighbour. Words of more
 * than SUGGEST_LONGEST bytes are compared by their beginning. */
#define SUGGEST_LONGEST 63
unsigned suggest_distance(const char *a, const char *b);

/* Keeps the nearest word seen; all zero but `word` at the start. */
struct suggest {
    const char *word; /* as typed */
    const char *best; /* NULL: nothing is near enough to be worth naming */
    unsigned distance;
};
void suggest_offer(struct suggest *suggest, const char *known);

#endif
