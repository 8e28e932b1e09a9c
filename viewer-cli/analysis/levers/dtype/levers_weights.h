/*
 * levers_weights.h - the weights of modules, by the names of parameters: `layer.weight` is what a
 * product of `layer` multiplies by.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_WEIGHTS_H
#define TIDEMARK_ANALYSIS_LEVERS_WEIGHTS_H

#include <stdint.h>

#include "levers_seen.h"
#include "map.h"

struct levers_weights { /* all zero is empty */
    struct map modules; /* to bytes of their `weight` */
    struct map owners;  /* modules that have parameters, and no others inside that have some */
    int64_t largest;    /* of the parameters */
    int64_t own;        /* bytes of parameters that are no module's `weight` or `bias` */
};

/* 0 or an error; levers_weights_clear in both cases. */
int levers_weights_read(struct levers_seen *seen, struct levers_weights *out);
void levers_weights_clear(struct levers_weights *weights);

#endif
