/*
 * label_modules.c - which modules ran without gradients, and which of those calls were run again
 * inside a backward.
 */
#include "label_parts.h"
#include "mem.h"

static void forget_modules(struct labels *labels)
{
    map_clear(&labels->modules_by_identity);
    labels->module_count = 0;
}

static struct label_module *module_of(struct labels *labels, uint64_t identity)
{
    uint64_t at = map_get(&labels->modules_by_identity, identity);
    if (at != MAP_NONE)
        return &labels->modules[at];
    if (labels->module_count == LABEL_MAX_MODULES)
        forget_modules(labels);
    if (!MEM_GROW(labels->modules, labels->module_cap, labels->module_count + 1) ||
        !map_put(&labels->modules_by_identity, identity, labels->module_count, NULL))
        return NULL;
    struct label_module *module = &labels->modules[labels->module_count++];
    *module = (struct label_module){0};
    return module;
}

/* The backward around a node that is a child of this owner, or LABEL_NONE. */
static uint32_t backward_among(const struct labels *labels, uint32_t node, uint32_t owner)
{
    uint32_t at = labels->nodes[node].owner;
    while (at && labels->nodes[at].owner != owner)
        at = labels->nodes[at].owner;
    return at && labels->nodes[at].kind == MARK_BACKWARD ? at : LABEL_NONE;
}

/* A module is called inside a backward: its calls without gradients before it, with no backward
 * between, were checkpointed. Each call is looked at once. */
static void mark_checkpointed(struct labels *labels, struct label_module *module, uint32_t node)
{
    uint32_t at = module->last;
    uint64_t id = module->last_id;
    while (id && at < labels->node_count && labels->nodes[at].id == id) {
        struct label_node *call = &labels->nodes[at];
        uint32_t backward = backward_among(labels, node, call->owner);
        call->checkpointed |= backward && labels->nodes[backward].epoch == call->epoch;
        at = call->same;
        id = call->same_id;
    }
    module->last_id = 0;
}

bool label_module_called(struct labels *labels, uint32_t at)
{
    struct label_node *node = &labels->nodes[at];
    struct label_module *module = module_of(labels, node->identity);
    if (!module)
        return false;
    if (node->flags & MARK_F_GRAD)
        module->with_grad = true;
    if (node->under_backward) {
        mark_checkpointed(labels, module, at);
    } else if (!(node->flags & MARK_F_GRAD)) {
        node->same = module->last;
        node->same_id = module->last_id;
        module->last = at;
        module->last_id = node->id;
    }
    return true;
}

void label_module_given_up(struct labels *labels, uint64_t identity)
{
    uint64_t at = map_get(&labels->modules_by_identity, identity);
    if (at != MAP_NONE)
        labels->modules[at].given_up = true;
}
