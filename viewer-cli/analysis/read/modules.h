/*
 * modules.h - what the modules of a program hold at an instant, as a tree: what is below one counts
 * to it. Instances are folded (module_fold.h). A block is of the module whose parameter it is, or
 * the gradient or the state of; else of the one that ran when it was asked for (view allocations).
 *
 * Invariants (modules_are_valid): the first node has what is of no module; every other stands
 * behind its parent, and what it holds is its own and that of its children.
 */
#ifndef TIDEMARK_ANALYSIS_MODULES_H
#define TIDEMARK_ANALYSIS_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db.h"
#include "map.h"
#include "purpose.h"

struct module_node {
    char *path;       /* folded; NULL: of no module, or not known */
    char *class_name; /* NULL as well */
    size_t parent;    /* MODULE_ROOT: none */
    size_t depth;     /* of a root 0 */
    size_t instances;
    int64_t own[PURPOSES], held[PURPOSES]; /* bytes; held: with those below */
    int64_t blocks;                        /* its own */
};
#define MODULE_ROOT SIZE_MAX

struct module_site { /* what blocks of no module hold, by call site */
    int64_t site;    /* GROUP_NONE: no call stack */
    int64_t held[PURPOSES];
    int64_t blocks;
};

struct modules {
    struct module_node *nodes;
    size_t count;
    struct module_site *sites; /* together: what the first node has; in no order */
    size_t site_count, site_cap;
    struct map by_site; /* site to its place in `sites` */
    size_t known;       /* of these, modules: 0 in a recording without any */
};

/* After the event `seq`. 0 or an error; modules_clear in both cases. */
int modules_read(struct db *db, int64_t process, int64_t device, int64_t seq, struct modules *out);
/* The nodes alone, which hold nothing, and which of them a block is of: for who has blocks of its
 * own. 0 or an error; modules_clear and module_tree_free in both cases, in any order. */
struct module_tree;
int module_tree_load(struct db *db, struct modules *out, struct module_tree **tree);
/* Its place in the nodes; all three as a living_block has them. */
size_t module_tree_node(const struct module_tree *tree, int64_t module, int64_t tag, int64_t site);
void module_tree_free(struct module_tree *tree);

void modules_clear(struct modules *modules);
bool modules_are_valid(const struct modules *modules);

int64_t module_own(const struct module_node *node); /* all kinds together */
int64_t module_held(const struct module_node *node);

#endif
