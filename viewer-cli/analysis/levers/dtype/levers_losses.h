/*
 * levers_losses.h - what losses make that is large: as much as their logits have.
 */
#ifndef TIDEMARK_ANALYSIS_LEVERS_LOSSES_H
#define TIDEMARK_ANALYSIS_LEVERS_LOSSES_H

#include "levers_dtypes.h"
#include "levers_seen.h"
#include "map.h"

struct levers_losses { /* all zero is empty */
    struct map bytes;  /* of a block that one makes at once, to its module */
};

bool levers_is_loss(enum levers_op op);
/* Of operations that are `is`; what else a loss makes are sums. 0 or an error; levers_losses_clear
 * in both cases. */
int levers_losses_read(struct levers_seen *seen, const struct levers_dtypes *dtypes,
                       bool (*is)(enum levers_op op), struct levers_losses *out);
void levers_losses_clear(struct levers_losses *losses);

bool levers_as_large_as_loss(const struct levers_losses *losses, const struct levers_block *block);
/* Of one of backward: and of the module that the loss is in, or of none as that. Elsewhere a tensor
 * may have as many bytes by accident. */
bool levers_of_loss(const struct levers_losses *losses, const struct levers_block *block);

#endif
