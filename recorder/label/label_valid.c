/*
 * label_valid.c - are the invariants of label.h kept?
 */
#include "label.h"
#include "mem.h"

static bool links_are_valid(const struct labels *labels, uint32_t owner, size_t *linked)
{
    uint32_t previous = LABEL_NONE;
    for (uint32_t at = labels->nodes[owner].first; at; at = labels->nodes[at].next) {
        const struct label_node *node = &labels->nodes[at];
        if (!node->id || node->owner != owner || node->previous != previous ||
            node->kind == LABEL_USER || ++*linked > labels->node_count)
            return false;
        previous = at;
    }
    return labels->nodes[owner].last == previous;
}

static bool stretches_are_valid(const struct labels *labels, uint32_t *refs)
{
    for (size_t i = 0; i < labels->count; i++) {
        const struct label_stretch *stretch = label_at(labels, i);
        const struct label_stretch *previous = i ? label_at(labels, i - 1) : stretch;
        if (stretch->begin_seq < previous->begin_seq || stretch->begin_ns < previous->begin_ns ||
            stretch->label >= LABEL_COUNT)
            return false;
        refs[stretch->node]++;
        refs[stretch->owner]++;
        if (stretch->closed)
            refs[stretch->closed]++;
        if (stretch->before)
            refs[stretch->before]++;
    }
    return labels->settled <= labels->count &&
           labels->count - labels->settled <= labels->limit + LABEL_MAX_OPEN;
}

/* Without memory it cannot be said. */
bool label_is_valid(const struct labels *labels)
{
    uint32_t *refs = mem_alloc(labels->node_count, sizeof *refs);
    size_t linked = 0, marks = 0, open = 0;
    if (!refs)
        return true;
    bool valid = stretches_are_valid(labels, refs);
    for (uint32_t i = 0; valid && i < labels->node_count; i++) {
        const struct label_node *node = &labels->nodes[i];
        if (i && !node->id)
            continue;
        valid = links_are_valid(labels, i, &linked);
        refs[i] += node->open;
        refs[node->parent]++;
        refs[node->owner]++;
        marks += i && node->kind != LABEL_USER;
        open += i && node->open;
    }
    for (uint32_t i = 1; valid && i < labels->node_count; i++)
        valid = refs[i] == labels->nodes[i].refs;
    for (size_t i = 1; valid && i < labels->open_count; i++)
        valid = labels->nodes[labels->open[i]].id > labels->nodes[labels->open[i - 1]].id;
    mem_free(refs);
    return valid && linked == marks && open == labels->open_count;
}
