/*
 * label.c - the boundaries between stretches, as marks and phases come.
 */
#include "label.h"

#include <assert.h>
#include <string.h>

#include "label_parts.h"
#include "mem.h"

static const struct {
    const char *kind, *name;
} words[LABEL_COUNT] = {
    [LABEL_OTHER] = {"other", "other"},
    [LABEL_ZERO_GRAD] = {"zero_grad", "zero_grad"},
    [LABEL_FORWARD] = {"forward", "forward"},
    [LABEL_CHECKPOINTED] = {"forward", "checkpointed forward"},
    [LABEL_LOSS] = {"loss", "loss"},
    [LABEL_BACKWARD] = {"backward", "backward"},
    [LABEL_OPTIMIZER] = {"optimizer", "optimizer"},
    [LABEL_EVAL] = {"eval", "eval"},
    [LABEL_NO_GRAD] = {"forward_no_grad", "forward (no grad)"},
    [LABEL_RECOMPUTE] = {"recompute", "recompute"},
    [LABEL_AFTER_BACKWARD] = {"after_backward", "after backward"},
};

const char *label_kind(enum label label)
{
    assert(label < LABEL_COUNT);
    return words[label].kind;
}

const char *label_name(enum label label)
{
    assert(label < LABEL_COUNT);
    return words[label].name;
}

/* ---- boundaries ---- */

enum label_result label_enter(struct labels *labels, const struct label_mark *mark, int64_t seq,
                              int64_t ns)
{
    if (mark->kind == LABEL_USER || mark->kind >= MARK_KIND_COUNT)
        return LABEL_IGNORED;
    if (labels->open_marks >= LABEL_MAX_OPEN) {
        labels->unstored++;
        return LABEL_IGNORED;
    }
    uint32_t at = label_make_room(labels) ? label_node_push(labels, mark) : LABEL_NONE;
    if (!at) {
        labels->unstored++;
        return LABEL_NO_MEMORY;
    }
    labels->marked = true;
    label_node_link(labels, at);
    labels->open_marks++;
    if (mark->kind == MARK_FORWARD)
        label_module_called(labels, at);
    if (mark->kind == MARK_OPTIMIZER || mark->kind == MARK_SCALER)
        label_step_begins(labels, at);
    label_add_stretch(labels, seq, ns, LABEL_NONE, mark->thread);
    label_settle(labels, false);
    return LABEL_MADE;
}

static void close_mark(struct labels *labels, size_t place, const struct label_mark *mark)
{
    uint32_t at = labels->open[place];
    assert(place < labels->open_count && labels->nodes[labels->open[place]].kind != LABEL_USER);
    labels->nodes[at].exit_flags = (uint8_t)mark->flags;
    labels->nodes[at].exception = mark->exception;
    label_node_close(labels, place);
    if (mark->exception)
        labels->nodes[labels->nodes[at].owner].children_epoch++;
    label_step_ended(labels, at);
}

/* It gives back the reference for being open. */
static enum label_result after_close(struct labels *labels, uint32_t at, uint32_t thread,
                                     int64_t seq, int64_t ns)
{
    bool room = label_make_room(labels);
    assert(at != LABEL_ROOT && !labels->nodes[at].open);
    if (room)
        label_add_stretch(labels, seq, ns, at, thread);
    label_node_drop(labels, at);
    if (room)
        label_settle(labels, false);
    return room ? LABEL_MADE : LABEL_NO_MEMORY;
}

/* The place in `open` + 1, or 0. */
static size_t find_open(const struct labels *labels, const struct label_mark *mark, bool any_thread)
{
    for (size_t i = labels->open_count; i > 0; i--) {
        const struct label_node *node = &labels->nodes[labels->open[i - 1]];
        if (node->kind == mark->kind && node->kind != LABEL_USER &&
            node->identity == mark->identity && (any_thread || node->thread == mark->thread))
            return i;
    }
    return 0;
}

enum label_result label_exit(struct labels *labels, const struct label_mark *mark, int64_t seq,
                             int64_t ns)
{
    if (labels->unstored) {
        labels->unstored--;
        return LABEL_IGNORED;
    }
    size_t place = find_open(labels, mark, false);
    if (!place)
        place = find_open(labels, mark, true);
    if (!place)
        return LABEL_NOT_OPEN;
    uint32_t at = labels->open[place - 1];
    close_mark(labels, place - 1, mark);
    return after_close(labels, at, mark->thread, seq, ns);
}

enum label_result label_user_begin(struct labels *labels, uint64_t user, uint32_t thread,
                                   int64_t seq, int64_t ns, uint64_t *id)
{
    struct label_mark mark = {.kind = LABEL_USER, .thread = thread};
    uint32_t at = label_make_room(labels) ? label_node_push(labels, &mark) : LABEL_NONE;
    if (!at)
        return LABEL_NO_MEMORY;
    labels->nodes[at].user = user;
    *id = labels->nodes[at].id;
    label_add_stretch(labels, seq, ns, LABEL_NONE, thread);
    label_settle(labels, false);
    return LABEL_MADE;
}

enum label_result label_user_end(struct labels *labels, uint64_t id, int64_t seq, int64_t ns)
{
    size_t place = labels->open_count;
    while (place && labels->nodes[labels->open[place - 1]].id != id)
        place--;
    if (!place)
        return LABEL_NOT_OPEN;
    uint32_t at = labels->open[place - 1];
    label_node_close(labels, place - 1);
    return after_close(labels, at, labels->nodes[at].thread, seq, ns);
}

enum label_result label_cut(struct labels *labels, int64_t seq, int64_t ns)
{
    assert(labels->node_count > 0);
    if (!label_make_room(labels))
        return LABEL_NO_MEMORY;
    label_add_stretch(labels, seq, ns, LABEL_NONE, labels->nodes[label_innermost(labels)].thread);
    label_settle(labels, false);
    return LABEL_MADE;
}

enum label_result label_prepare(struct labels *labels, uint32_t thread, int64_t seq, int64_t ns)
{
    uint32_t owner = label_owner_of(labels, label_innermost(labels));
    const struct label_stretch *last = labels->count ? label_at(labels, labels->count - 1) : NULL;
    if (last && last->prepares && last->thread == thread)
        return LABEL_IGNORED;
    if (owner != LABEL_ROOT && !label_is_step(&labels->nodes[owner]))
        return LABEL_IGNORED;
    if (!label_make_room(labels))
        return LABEL_NO_MEMORY;
    label_add_stretch(labels, seq, ns, LABEL_NONE, thread);
    labels->stretches[labels->head + labels->count - 1].prepares = true;
    label_settle(labels, false);
    return LABEL_MADE;
}

void label_refused(struct labels *labels)
{
    if (labels->count > labels->settled)
        labels->stretches[labels->head + labels->count - 1].refused = true;
}

enum label_result label_drop(struct labels *labels, uint32_t thread, int64_t seq, int64_t ns)
{
    struct label_mark mark = {.exception = true};
    uint32_t outermost = LABEL_NONE;
    if (!thread)
        labels->unstored = 0;
    for (size_t i = labels->open_count; i > 0; i--) {
        uint32_t at = labels->open[i - 1];
        if (labels->nodes[at].kind == LABEL_USER || (thread && labels->nodes[at].thread != thread))
            continue;
        close_mark(labels, i - 1, &mark);
        label_node_drop(labels, outermost);
        outermost = at;
    }
    return outermost ? after_close(labels, outermost, thread, seq, ns) : LABEL_IGNORED;
}

/* ---- begin, end ---- */

bool label_start(struct labels *labels, int64_t seq, int64_t ns)
{
    *labels = (struct labels){.limit = LABEL_WINDOW, .next_pass = 64};
    labels->steps.waiting = true;
    labels->steps.serial = 1;
    if (!MEM_GROW(labels->nodes, labels->node_cap, 1) || !label_make_room(labels)) {
        label_clear(labels);
        return false;
    }
    labels->nodes[LABEL_ROOT] =
        (struct label_node){.open = true, .known = true, .gone = {.forward = LABEL_COUNT}};
    labels->node_count = 1;
    label_add_stretch(labels, seq, ns, LABEL_NONE, 0);
    label_settle(labels, false);
    return true;
}

void label_clear(struct labels *labels)
{
    mem_free(labels->stretches);
    mem_free(labels->nodes);
    mem_free(labels->open);
    mem_free(labels->modules);
    map_clear(&labels->modules_by_identity);
    label_step_clear(&labels->steps);
    *labels = (struct labels){0};
}

void label_end(struct labels *labels)
{
    while (labels->open_count) {
        uint32_t at = labels->open[labels->open_count - 1];
        label_node_close(labels, labels->open_count - 1);
        label_node_drop(labels, at);
    }
    labels->nodes[LABEL_ROOT].open = false;
    labels->ended = true;
    label_settle(labels, true);
}

void label_marks_begin(struct labels *labels, bool own_steps)
{
    labels->marked = true;
    labels->steps.off = own_steps;
}
