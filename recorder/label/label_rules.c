/*
 * What the marks and the gaps between them were.
 *
 * The children of one owner are looked at twice: from the last to the first for what follows each
 * (the next backward, a forward before it, whether training goes on), then from the first to the
 * last for what came before. A context goes from a step or a failure to the next one.
 *
 *   backward, zero_grad, optimizer and scaler steps: as their marks say.
 *   forward under a backward: recompute.
 *   forward with gradients: loss if it is of a loss class, or has no parameters and returned one
 *     element or failed; a forward must have come before it in the context and, but for the loss
 *     class, none may follow before the backward. In evaluation mode, and with no backward before
 *     the next step or forward in training mode: eval, and so is its loss. Else forward.
 *   forward without gradients: checkpointed if the next backward calls the module again; a loss is
 *     what came before it; in evaluation mode, if the module also runs with gradients: eval; else
 *     no_grad.
 *   gap after a forward or loss, whatever zero_grad is in between: loss before a backward or a
 *     loss, forward before a forward. Between two backwards: loss. Between a backward and a step:
 *     after_backward. Before a backward with no forward in the context: forward, but not before the
 *     first mark of all. What prepares the backward that comes next (label_prepare): backward.
 *     After a failure, and else: other; inside of a step optimizer; inside anything else what that
 *     is.
 */
#include "label.h"

/* What is known of the next backward among the siblings that follow, up to a step or failure. */
enum label_backward {
    BACKWARD_NOT_YET, /* it may still come */
    BACKWARD_NEVER,
    BACKWARD_OPEN,
    BACKWARD_DONE
};

bool label_is_step(const struct label_node *node)
{
    return node->kind == MARK_OPTIMIZER || node->kind == MARK_SCALER;
}

static bool ends_context(const struct label_node *node)
{
    return label_is_step(node) || (node->exception && node->kind != MARK_ZERO_GRAD);
}

static bool is_losslike(const struct label_node *node)
{
    if (node->kind != MARK_FORWARD)
        return false;
    if (node->flags & MARK_F_LOSS_CLASS)
        return true;
    return !(node->flags & MARK_F_PARAMETERS) &&
           (node->exception || node->exit_flags & MARK_F_ONE_ELEMENT);
}

static bool is_forward_like(unsigned label)
{
    return label == LABEL_FORWARD || label == LABEL_CHECKPOINTED;
}

enum label label_fallback(const struct label_node *owner)
{
    if (label_is_step(owner))
        return LABEL_OPTIMIZER;
    return owner->kind == LABEL_USER ? LABEL_OTHER : (enum label)owner->label;
}

/* ---- from the last to the first ---- */

struct ahead {
    uint8_t backward, training;
    bool forward_follows;
    uint32_t solid;
};

static void look_past(struct ahead *ahead, const struct label_node *node, bool final)
{
    bool losslike = is_losslike(node);
    if (node->kind == MARK_FORWARD && node->open && !(node->flags & MARK_F_PARAMETERS) && !final)
        return; /* whether it is a loss is known when it returns; nothing comes after it yet */
    switch (node->kind) {
    case MARK_OPTIMIZER:
    case MARK_SCALER:
        *ahead = (struct ahead){BACKWARD_NEVER, LABEL_NO, false, 0};
        break;
    case MARK_BACKWARD:
        *ahead = (struct ahead){node->open && !final ? BACKWARD_OPEN : BACKWARD_DONE, LABEL_YES,
                                false, 0};
        break;
    case MARK_FORWARD:
        if (losslike)
            break;
        if (!(node->flags & MARK_F_GRAD))
            ahead->forward_follows |= node->checkpointed;
        else if (node->flags & MARK_F_TRAINING || ahead->training == LABEL_YES)
            ahead->forward_follows = true;
        if (node->flags & MARK_F_TRAINING)
            ahead->training = LABEL_NO;
        break;
    default:
        break;
    }
}

/* `training` of a node: a backward comes before the next step or forward in training mode. */
static void look_back(struct labels *labels, const struct label_node *owner, bool more, bool final)
{
    struct ahead ahead = {more ? BACKWARD_NOT_YET : BACKWARD_NEVER, more ? LABEL_UNKNOWN : LABEL_NO,
                          false, LABEL_NONE};
    for (uint32_t at = owner->last; at; at = labels->nodes[at].previous) {
        struct label_node *node = &labels->nodes[at];
        uint32_t solid = node->kind == MARK_ZERO_GRAD ? ahead.solid : at;
        if (ends_context(node)) {
            ahead.backward = BACKWARD_NEVER;
            ahead.forward_follows = false;
        }
        node->backward = ahead.backward;
        node->training = ahead.training;
        node->forward_follows = ahead.forward_follows;
        node->next_solid = solid;
        look_past(&ahead, node, final);
        ahead.solid = solid;
    }
}

/* ---- from the first to the last ---- */

struct verdict {
    enum label label;
    bool known;
};

static struct verdict loss_with_grad(const struct label_node *node)
{
    const struct label_before *before = &node->before;
    if (before->forward == LABEL_EVAL && node->training != LABEL_YES)
        return (struct verdict){LABEL_EVAL, node->training != LABEL_UNKNOWN};
    if (!before->any_forward)
        return (struct verdict){LABEL_FORWARD, true};
    if (node->flags & MARK_F_LOSS_CLASS)
        return (struct verdict){LABEL_LOSS, true};
    if (node->forward_follows)
        return (struct verdict){LABEL_FORWARD, true};
    bool complete = node->backward == BACKWARD_NEVER || node->backward == BACKWARD_DONE;
    return (struct verdict){LABEL_LOSS, complete};
}

static struct verdict with_grad(const struct label_node *node)
{
    if (is_losslike(node))
        return loss_with_grad(node);
    /* What returns one element is known when it returns. */
    bool complete = !node->open || node->flags & MARK_F_PARAMETERS;
    if (node->flags & MARK_F_TRAINING || node->training == LABEL_YES)
        return (struct verdict){LABEL_FORWARD, complete};
    return (struct verdict){LABEL_EVAL, complete && node->training == LABEL_NO};
}

static struct verdict without_grad(const struct labels *labels, const struct label_node *node)
{
    if (is_losslike(node) && node->before.forward != LABEL_COUNT)
        return (struct verdict){(enum label)node->before.forward, true};
    bool complete = !node->open || node->flags & MARK_F_PARAMETERS;
    if (node->checkpointed)
        return (struct verdict){LABEL_CHECKPOINTED, complete};
    complete &= node->backward == BACKWARD_NEVER || node->backward == BACKWARD_DONE;
    if (node->flags & MARK_F_TRAINING)
        return (struct verdict){LABEL_NO_GRAD, complete};
    uint64_t at = map_get(&labels->modules_by_identity, node->identity);
    const struct label_module *module = at == MAP_NONE ? NULL : &labels->modules[at];
    if (module && module->with_grad)
        return (struct verdict){LABEL_EVAL, complete};
    return (struct verdict){LABEL_NO_GRAD, complete && (!module || module->given_up)};
}

static struct verdict judge(const struct labels *labels, const struct label_node *node)
{
    static const uint8_t plain[MARK_KIND_COUNT] = {
        [MARK_BACKWARD] = LABEL_BACKWARD,
        [MARK_ZERO_GRAD] = LABEL_ZERO_GRAD,
        [MARK_OPTIMIZER] = LABEL_OPTIMIZER,
        [MARK_SCALER] = LABEL_OPTIMIZER,
    };
    if (node->kind != MARK_FORWARD)
        return (struct verdict){(enum label)plain[node->kind], true};
    if (node->under_backward)
        return (struct verdict){LABEL_RECOMPUTE, true};
    return node->flags & MARK_F_GRAD ? with_grad(node) : without_grad(labels, node);
}

struct label_before label_advance(struct label_before before, const struct label_node *child)
{
    if (child->kind != MARK_ZERO_GRAD || child->exception) {
        before.kind = child->kind;
        before.label = child->label;
        before.exception = child->exception;
    }
    if (child->kind == MARK_FORWARD) {
        before.forward = child->label;
        before.any_forward |= is_forward_like(child->label);
    }
    if (ends_context(child)) {
        before.forward = LABEL_COUNT;
        before.any_forward = false;
    }
    return before;
}

static void look_forth(struct labels *labels, const struct label_node *owner, bool final)
{
    struct label_before before = owner->gone;
    for (uint32_t at = owner->first; at; at = labels->nodes[at].next) {
        struct label_node *node = &labels->nodes[at];
        node->before = before;
        if (!node->fixed) {
            struct verdict verdict = judge(labels, node);
            node->label = (uint8_t)verdict.label;
            node->known = verdict.known || final;
        }
        before = node->after = label_advance(before, node);
    }
}

/* ---- gaps ---- */

/* After a forward or a loss. */
static struct verdict after_forward(const struct labels *labels, const struct label_before *before,
                                    uint32_t next, bool more, enum label fallback)
{
    uint32_t solid = next ? labels->nodes[next].next_solid : LABEL_NONE;
    const struct label_node *node = &labels->nodes[solid];
    if (!solid)
        return (struct verdict){fallback, !more};
    if (node->kind == MARK_BACKWARD)
        return (struct verdict){LABEL_LOSS, true};
    if (node->kind != MARK_FORWARD)
        return (struct verdict){fallback, true};
    if (node->label == LABEL_LOSS)
        return (struct verdict){LABEL_LOSS, node->known};
    if (!is_forward_like(node->label))
        return (struct verdict){fallback, node->known};
    return (struct verdict){before->label == node->label ? (enum label)node->label : LABEL_FORWARD,
                            node->known};
}

static struct verdict gap(const struct labels *labels, const struct label_stretch *stretch,
                          const struct label_node *owner, bool more)
{
    enum label fallback = label_fallback(owner);
    const struct label_node *last = stretch->before ? &labels->nodes[stretch->before] : NULL;
    const struct label_before *before = last ? &last->after : &owner->gone;
    uint32_t next = last ? last->next : owner->first;
    unsigned next_kind = next ? labels->nodes[next].kind : 0;
    if (before->exception)
        return (struct verdict){fallback, true};
    if (before->kind == MARK_FORWARD &&
        (is_forward_like(before->label) || before->label == LABEL_LOSS))
        return after_forward(labels, before, next, more, fallback);
    if (!next)
        return (struct verdict){fallback, !more || (!last && owner == labels->nodes)};
    if (last && last->kind == MARK_BACKWARD) {
        if (next_kind == MARK_BACKWARD)
            return (struct verdict){LABEL_LOSS, true};
        bool step = next_kind == MARK_OPTIMIZER || next_kind == MARK_SCALER;
        return (struct verdict){step ? LABEL_AFTER_BACKWARD : fallback, true};
    }
    bool begun = last || owner != labels->nodes;
    if (next_kind == MARK_BACKWARD && !labels->nodes[next].before.any_forward && begun)
        return (struct verdict){LABEL_FORWARD, true};
    return (struct verdict){fallback, true};
}

static bool is_last(const struct labels *labels, const struct label_stretch *stretch)
{
    return stretch == label_at(labels, labels->count - 1);
}

/* The backward that it prepares is the next boundary. */
static bool is_of_backward(const struct labels *labels, const struct label_stretch *stretch)
{
    if (!stretch->prepares || is_last(labels, stretch))
        return false;
    const struct label_node *node = &labels->nodes[stretch[1].node];
    return node->kind == MARK_BACKWARD && node->owner == stretch->owner &&
           stretch[1].thread == stretch->thread;
}

static void label_stretch(const struct labels *labels, struct label_stretch *stretch, bool final)
{
    const struct label_node *owner = &labels->nodes[stretch->owner];
    struct verdict verdict = {(enum label)owner->label, owner->known};
    if (is_of_backward(labels, stretch))
        verdict = (struct verdict){LABEL_BACKWARD, true};
    else if (stretch->owner == LABEL_ROOT || label_is_step(owner))
        verdict = gap(labels, stretch, owner, owner->open && !final);
    stretch->label = (uint8_t)verdict.label;
    stretch->known = (verdict.known && !(stretch->prepares && is_last(labels, stretch))) || final;
}

void label_pass(struct labels *labels, bool final)
{
    for (size_t i = 0; i < labels->node_count; i++) {
        const struct label_node *owner = &labels->nodes[i];
        if ((i && !owner->id) || !owner->first)
            continue;
        look_back(labels, owner, owner->open && !final, final);
        look_forth(labels, owner, final);
    }
    for (size_t i = labels->settled; i < labels->count; i++)
        label_stretch(labels, &labels->stretches[labels->head + i], final);
}
