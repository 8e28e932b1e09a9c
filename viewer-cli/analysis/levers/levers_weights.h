/*
 * levers_weights.h - the weights of modules, by the names of parameters: `layer.weight` is what a
 * product of `layer` multiplies by.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_WEIGHTS_H
#define TIDEMARK_ANALYSIS_LEVERS_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

#include "levers_work.h"
#include "map.h"

struct levers_weights { /* all zero is empty */
    struct map modules; /* to bytes of their `weight` */
    struct map of_own;  /* modules that have parameters of their own, to bytes of the largest */
    struct map owners;  /* of these, those with no others inside that have some */
    struct map sizes;   /* of `owners`, module and bytes of each parameter */
    int64_t largest;    /* of the parameters */
    int64_t own;        /* bytes of parameters that are no module's `weight` or `bias` */
};

/* 0 or an error; levers_weights_clear in both cases. */
int levers_weights_read(struct levers_work *work, struct levers_weights *out);
void levers_weights_clear(struct levers_weights *weights);
/* Of the module's own parameters the largest is small beside a block of so many bytes, or there is
 * none: nothing is multiplied by a matrix of these. */
bool levers_has_no_matrix(const struct levers_weights *weights, int64_t module, int64_t asked);
/* A module of `owners` has a parameter of so many bytes. */
bool levers_has_parameter(const struct levers_weights *weights, int64_t module, int64_t asked);

#endif
