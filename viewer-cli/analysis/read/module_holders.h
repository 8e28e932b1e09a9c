/*
 * module_holders.h - who holds the memory at an instant, module by module and by what it is for:
 * "activations of model.layers[0-23].mlp". Instances that follow each other are one holder, modules
 * of two classes never are (module_fold.h). A block is of a module as module_index.h says; those of
 * none stand together, one holder for each purpose.
 *
 * Invariants (module_holders_are_valid): the largest first; no two have the same module,
 * class and purpose; a holder has at least one block.
 */
#ifndef TIDEMARK_ANALYSIS_MODULE_HOLDERS_H
#define TIDEMARK_ANALYSIS_MODULE_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "purpose.h"

struct module_holder {
    char *module;     /* folded; of the outermost one its class; NULL: of no module, or not known */
    char *class_name; /* NULL as well */
    enum purpose purpose;
    size_t
        instances; /* of the module, those without a block of this purpose included; 0: of none */
    int64_t bytes, blocks;
};

struct module_holders {
    struct module_holder *all;
    size_t count, cap;
    size_t known; /* modules of the recording: 0 where none is known */
    int64_t bytes;
};

/* After the event `seq`. 0 or an error; module_holders_clear in both cases. */
int module_holders_read(struct db *db, int64_t process, int64_t device, int64_t seq,
                        struct module_holders *out);
void module_holders_clear(struct module_holders *holders);
bool module_holders_are_valid(const struct module_holders *holders);

#endif
