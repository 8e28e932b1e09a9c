/*
 * levers_model.h - a training run for tests of levers, in a script.
 *
 * The model: 100 MiB of parameters; forward makes two activations of 100 MiB and logits of 60;
 * backward has two gradients of 60 on their way at once, then lets the activations go, then makes
 * four gradients of 25. Adam's states are 200. Its peak is in step 1:
 * 100 + 100 gradients + 200 + 200 + 60 + 120 = 780.
 */
#ifndef TIDEMARK_TESTS_LEVERS_MODEL_H
#define TIDEMARK_TESTS_LEVERS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "db.h"
#include "levers.h"
#include "script.h"
#include "script_sites.h"

enum { ZERO = 0, FORWARD = 100, LOSS = 300, BACKWARD = 400, OPTIMIZER = 700, END = 799 };

struct model {
    int steps;
    bool none;          /* zero_grad sets gradients to None */
    bool no_zero_grad;  /* nobody zeroes */
    bool released;      /* logits go in backward */
    bool other_count;   /* of blocks of that size, in the first backward */
    int flight;         /* MiB of a gradient on its way; 0 = 60 */
    int activation_end; /* after backward began; 0 = 10 */
};

int64_t at(int step, int offset); /* its event */
void train(struct script *script, const struct model *model);

struct levers read_levers(struct db *db, struct peak *peak);
/* The first of that kind; NULL. */
const struct lever *find(const struct levers *levers, enum lever_kind kind);
/* MiB of the largest of that kind; -1 = there is none. */
int64_t worth(struct script *script, enum lever_kind kind, bool *at_most);
int64_t worth_of(const struct model *model, enum lever_kind kind, bool *at_most);

#endif
