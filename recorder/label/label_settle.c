/*
 * label_settle.c - which stretches of the window are decided, and when that is looked at: as marks
 * come, when the window is full, and at the end.
 */
#include "label_parts.h"

#include <assert.h>

/* What was given out of a node stays its label. */
static void fix_path(struct labels *labels, const struct label_stretch *stretch)
{
    for (uint32_t at = stretch->node; at && !labels->nodes[at].fixed; at = labels->nodes[at].parent)
        labels->nodes[at].fixed = true;
    labels->nodes[stretch->owner].fixed |= stretch->owner != LABEL_ROOT;
    const struct label_node *node = &labels->nodes[stretch->node];
    if (node->kind == MARK_FORWARD && node->label == LABEL_NO_GRAD)
        label_module_given_up(labels, node->identity);
}

static void settle_known(struct labels *labels)
{
    while (labels->settled < labels->count) {
        struct label_stretch *stretch = &labels->stretches[labels->head + labels->settled];
        bool last = labels->settled + 1 == labels->count && !labels->ended;
        if (last || !stretch->known || !label_step_of(labels, stretch, false))
            return;
        labels->settled++;
    }
}

static void settle_by_force(struct labels *labels, size_t until)
{
    assert(until <= labels->count);
    label_pass(labels, true);
    label_step_look_ahead(labels, labels->ended ? LABEL_NO : LABEL_YES);
    while (labels->settled < until) {
        struct label_stretch *stretch = &labels->stretches[labels->head + labels->settled];
        label_step_of(labels, stretch, true);
        fix_path(labels, stretch);
        labels->settled++;
    }
}

/* Before the first mark: what a stretch is known to be as it is made. */
static void settle_plain(struct labels *labels)
{
    assert(!labels->marked);
    for (; labels->settled < labels->count; labels->settled++)
        labels->stretches[labels->head + labels->settled].known = true;
}

void label_settle(struct labels *labels, bool now)
{
    if (!labels->marked) {
        settle_plain(labels);
        return;
    }
    size_t waiting = labels->count - labels->settled;
    bool full = waiting >= labels->limit;
    if (!now && !full && waiting < labels->next_pass)
        return;
    label_pass(labels, labels->ended);
    label_step_decide(labels);
    label_step_look_ahead(labels, labels->ended ? LABEL_NO : LABEL_UNKNOWN);
    settle_known(labels);
    if (labels->ended)
        settle_by_force(labels, labels->count);
    else if (full && labels->count - labels->settled > waiting / 2)
        settle_by_force(labels, labels->count - waiting / 2);
    size_t left = labels->count - labels->settled;
    labels->next_pass = left + (left > 128 ? left / 2 : 64);
    if (labels->next_pass > labels->limit)
        labels->next_pass = labels->limit;
}

void label_guess(struct labels *labels)
{
    label_pass(labels, true);
    label_step_look_ahead(labels, LABEL_NO);
    label_step_guess(labels);
}
