/*
 * label_nodes.c - the tree of marks and the window of stretches: what each refers to, and for how
 * long (label.h has the invariants).
 */
#include <assert.h>
#include <string.h>

#include "label_parts.h"
#include "mem.h"

static uint32_t label_node_new(struct labels *labels)
{
    uint32_t at = labels->free_node;
    if (at) {
        labels->free_node = labels->nodes[at].next;
    } else {
        if (labels->node_count >= UINT32_MAX ||
            !MEM_GROW(labels->nodes, labels->node_cap, labels->node_count + 1))
            return LABEL_NONE;
        at = (uint32_t)labels->node_count++;
    }
    struct label_before none = {.forward = LABEL_COUNT};
    labels->nodes[at] = (struct label_node){
        .id = ++labels->last_id, .refs = 1, .open = true, .gone = none, .before = none};
    return at;
}

static void unlink_child(struct labels *labels, uint32_t at)
{
    struct label_node *node = &labels->nodes[at], *owner = &labels->nodes[node->owner];
    assert(node->kind != LABEL_USER && at != LABEL_ROOT);
    *(node->previous ? &labels->nodes[node->previous].next : &owner->first) = node->next;
    *(node->next ? &labels->nodes[node->next].previous : &owner->last) = node->previous;
}

void label_node_drop(struct labels *labels, uint32_t at)
{
    while (at && --labels->nodes[at].refs == 0) {
        struct label_node *node = &labels->nodes[at];
        uint32_t parent = node->parent, owner_at = node->owner;
        if (node->kind != LABEL_USER) {
            /* Children are forgotten in order: the owner keeps what they add up to. Only one that
             * no stretch ever had, for want of memory, can go before an older one. */
            struct label_node *owner = &labels->nodes[node->owner];
            if (owner->first == at)
                owner->gone = label_advance(owner->gone, node);
            unlink_child(labels, at);
        }
        *node = (struct label_node){.next = labels->free_node};
        labels->free_node = at;
        label_node_drop(labels, owner_at); /* nearly always the parent: then not the last one */
        at = parent;
    }
}

void label_node_link(struct labels *labels, uint32_t at)
{
    struct label_node *node = &labels->nodes[at], *owner = &labels->nodes[node->owner];
    assert(labels->nodes[at].kind != LABEL_USER && node->owner != at);
    node->epoch = owner->children_epoch;
    node->next = LABEL_NONE;
    node->previous = owner->last;
    *(owner->last ? &labels->nodes[owner->last].next : &owner->first) = at;
    owner->last = at;
    owner->children_epoch +=
        node->kind == MARK_BACKWARD || node->kind == MARK_OPTIMIZER || node->kind == MARK_SCALER;
}

uint32_t label_innermost(const struct labels *labels)
{
    return labels->open_count ? labels->open[labels->open_count - 1] : LABEL_ROOT;
}

uint32_t label_owner_of(const struct labels *labels, uint32_t node)
{
    assert(node < labels->node_count);
    return node && labels->nodes[node].kind == LABEL_USER ? labels->nodes[node].owner : node;
}

uint32_t label_node_push(struct labels *labels, const struct label_mark *mark)
{
    uint32_t parent = label_innermost(labels), at;
    if (!MEM_GROW(labels->open, labels->open_cap, labels->open_count + 1) ||
        !(at = label_node_new(labels)))
        return LABEL_NONE;
    uint32_t owner_at = label_owner_of(labels, parent);
    struct label_node *node = &labels->nodes[at], *owner = &labels->nodes[owner_at];
    node->kind = (uint8_t)mark->kind;
    node->flags = (uint8_t)mark->flags;
    node->identity = mark->identity;
    node->thread = mark->thread;
    node->parent = parent;
    node->owner = owner_at;
    bool step = owner->kind == MARK_OPTIMIZER || owner->kind == MARK_SCALER;
    node->under_backward = owner->under_backward || owner->kind == MARK_BACKWARD;
    node->under_step = owner->under_step || step || owner->kind == MARK_BACKWARD;
    labels->nodes[parent].refs++;
    labels->nodes[owner_at].refs++;
    labels->open[labels->open_count++] = at;
    return at;
}

/* The node at this place of `open` goes on inside of what is below it there: as another record, so
 * that the stretches before stay where they were. Without memory it stays inside of what has ended.
 */
static void go_on(struct labels *labels, size_t place)
{
    uint32_t old = labels->open[place], at = label_node_new(labels);
    assert(place < labels->open_count);
    if (!at)
        return;
    struct label_node *node = &labels->nodes[at], *before = &labels->nodes[old];
    node->id = before->id;
    node->identity = before->identity;
    node->user = before->user;
    node->thread = before->thread;
    node->kind = before->kind;
    node->flags = before->flags;
    node->under_backward = before->under_backward;
    node->under_step = before->under_step;
    node->has_step = before->has_step;
    node->parent = place ? labels->open[place - 1] : LABEL_ROOT;
    node->owner = label_owner_of(labels, node->parent);
    labels->nodes[node->parent].refs++;
    labels->nodes[node->owner].refs++;
    if (node->kind != LABEL_USER)
        label_node_link(labels, at);
    before->open = false;
    labels->open[place] = at;
    label_node_drop(labels, old);
}

void label_node_close(struct labels *labels, size_t place)
{
    struct label_node *node = &labels->nodes[labels->open[place]];
    assert(place < labels->open_count && node->open);
    labels->open_marks -= node->kind != LABEL_USER;
    node->open = false;
    labels->open_count--;
    memmove(&labels->open[place], &labels->open[place + 1],
            (labels->open_count - place) * sizeof *labels->open);
    for (size_t i = place; i < labels->open_count; i++)
        go_on(labels, i);
}

/* ---- the window ---- */

bool label_make_room(struct labels *labels)
{
    if (labels->head && labels->head >= labels->count) {
        memmove(labels->stretches, labels->stretches + labels->head,
                labels->count * sizeof *labels->stretches);
        labels->head = 0;
    }
    return (!labels->room || labels->room(labels->context)) &&
           MEM_GROW(labels->stretches, labels->cap, labels->head + labels->count + 1);
}

void label_add_stretch(struct labels *labels, int64_t seq, int64_t ns, uint32_t closed,
                       uint32_t thread)
{
    struct label_stretch *stretch = &labels->stretches[labels->head + labels->count];
    uint32_t node = label_innermost(labels), owner = label_owner_of(labels, node);
    assert(labels->head + labels->count < labels->cap && closed < labels->node_count);
    *stretch = (struct label_stretch){
        .begin_seq = seq,
        .begin_ns = ns,
        .node = node,
        .owner = owner,
        .closed = closed,
        .before = labels->nodes[owner].last,
        .thread = thread,
        .step = LABEL_NO_STEP,
    };
    labels->nodes[node].refs++;
    labels->nodes[owner].refs++;
    if (closed)
        labels->nodes[closed].refs++;
    if (stretch->before)
        labels->nodes[stretch->before].refs++;
    labels->count++;
}

void label_pop(struct labels *labels)
{
    assert(labels->settled > 0 && labels->count > 0);
    struct label_stretch gone = labels->stretches[labels->head++];
    labels->count--;
    labels->settled--;
    label_node_drop(labels, gone.closed); /* it may be an older sibling of the next ones */
    label_node_drop(labels, gone.before);
    label_node_drop(labels, gone.owner);
    label_node_drop(labels, gone.node);
}
