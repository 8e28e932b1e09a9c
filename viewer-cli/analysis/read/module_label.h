/*
 * module_label.h - what the modules of many blocks are called together, for a line that shows these
 * blocks: the folded name that all of them share; or one of several "and others", which is the one
 * that has more than half of the bytes, where one has.
 *
 * Invariants: `bytes` is not negative, and 0 bytes have no `best`.
 */
#ifndef TIDEMARK_ANALYSIS_MODULE_LABEL_H
#define TIDEMARK_ANALYSIS_MODULE_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "module_index.h"

struct module_label { /* all zero is that of no block */
    const struct module_entry *best;
    int64_t bytes; /* that are its, less those of others that were set off against them */
    bool several;  /* blocks of other names were among them */
};

/* `entry`: the block's module, NULL for none. */
void module_label_add(struct module_label *label, const struct module_entry *entry, int64_t bytes);
/* NULL where no block is of a module. To be freed by the caller; *full false without memory. */
char *module_label_text(const struct module_label *label, bool *full);

#endif
