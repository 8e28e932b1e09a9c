#include "label.h"

#include <assert.h>
#include <string.h>

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
    return words[label].kind;
}

const char *label_name(enum label label)
{
    return words[label].name;
}

/* ---- nodes ---- */

static uint32_t take_node(struct labels *labels)
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
    *(node->previous ? &labels->nodes[node->previous].next : &owner->first) = node->next;
    *(node->next ? &labels->nodes[node->next].previous : &owner->last) = node->previous;
}

static void drop_ref(struct labels *labels, uint32_t at)
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
        drop_ref(labels, owner_at); /* nearly always the parent: then not the last one */
        at = parent;
    }
}

static void link_child(struct labels *labels, uint32_t at)
{
    struct label_node *node = &labels->nodes[at], *owner = &labels->nodes[node->owner];
    node->epoch = owner->children_epoch;
    node->next = LABEL_NONE;
    node->previous = owner->last;
    *(owner->last ? &labels->nodes[owner->last].next : &owner->first) = at;
    owner->last = at;
    owner->children_epoch +=
        node->kind == MARK_BACKWARD || node->kind == MARK_OPTIMIZER || node->kind == MARK_SCALER;
}

static uint32_t innermost(const struct labels *labels)
{
    return labels->open_count ? labels->open[labels->open_count - 1] : LABEL_ROOT;
}

static uint32_t owner_of(const struct labels *labels, uint32_t node)
{
    return node && labels->nodes[node].kind == LABEL_USER ? labels->nodes[node].owner : node;
}

/* ---- stretches ---- */

static bool make_room(struct labels *labels)
{
    if (labels->head && labels->head >= labels->count) {
        memmove(labels->stretches, labels->stretches + labels->head,
                labels->count * sizeof *labels->stretches);
        labels->head = 0;
    }
    return (!labels->room || labels->room(labels->context)) &&
           MEM_GROW(labels->stretches, labels->cap, labels->head + labels->count + 1);
}

/* There is room for it. */
static void add_stretch(struct labels *labels, int64_t seq, int64_t ns, uint32_t closed,
                        uint32_t thread)
{
    struct label_stretch *stretch = &labels->stretches[labels->head + labels->count];
    uint32_t node = innermost(labels), owner = owner_of(labels, node);
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
    drop_ref(labels, gone.closed); /* it may be an older sibling of the next ones */
    drop_ref(labels, gone.before);
    drop_ref(labels, gone.owner);
    drop_ref(labels, gone.node);
}

/* ---- modules ---- */

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

/* False without memory: the module stays unknown. */
static bool call_module(struct labels *labels, uint32_t at)
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

/* ---- boundaries ---- */

static uint32_t push_node(struct labels *labels, const struct label_mark *mark)
{
    uint32_t parent = innermost(labels), at;
    if (!MEM_GROW(labels->open, labels->open_cap, labels->open_count + 1) ||
        !(at = take_node(labels)))
        return LABEL_NONE;
    uint32_t owner_at = owner_of(labels, parent);
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

enum label_result label_enter(struct labels *labels, const struct label_mark *mark, int64_t seq,
                              int64_t ns)
{
    if (mark->kind == LABEL_USER || mark->kind >= MARK_KIND_COUNT)
        return LABEL_IGNORED;
    if (labels->open_marks >= LABEL_MAX_OPEN) {
        labels->unstored++;
        return LABEL_IGNORED;
    }
    uint32_t at = make_room(labels) ? push_node(labels, mark) : LABEL_NONE;
    if (!at) {
        labels->unstored++;
        return LABEL_NO_MEMORY;
    }
    labels->marked = true;
    link_child(labels, at);
    labels->open_marks++;
    if (mark->kind == MARK_FORWARD)
        call_module(labels, at);
    if (mark->kind == MARK_OPTIMIZER || mark->kind == MARK_SCALER)
        label_step_begins(labels, at);
    add_stretch(labels, seq, ns, LABEL_NONE, mark->thread);
    label_settle(labels, false);
    return LABEL_MADE;
}

/* The node at this place of `open` goes on inside of what is below it there: as another record, so
 * that the stretches before stay where they were. Without memory it stays inside of what has ended.
 */
static void go_on(struct labels *labels, size_t place)
{
    uint32_t old = labels->open[place], at = take_node(labels);
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
    node->owner = owner_of(labels, node->parent);
    labels->nodes[node->parent].refs++;
    labels->nodes[node->owner].refs++;
    if (node->kind != LABEL_USER)
        link_child(labels, at);
    before->open = false;
    labels->open[place] = at;
    drop_ref(labels, old);
}

/* Takes it out of `open`, wherever it stands. It keeps the reference for being open. */
static void close_node(struct labels *labels, size_t place)
{
    struct label_node *node = &labels->nodes[labels->open[place]];
    labels->open_marks -= node->kind != LABEL_USER;
    node->open = false;
    labels->open_count--;
    memmove(&labels->open[place], &labels->open[place + 1],
            (labels->open_count - place) * sizeof *labels->open);
    for (size_t i = place; i < labels->open_count; i++)
        go_on(labels, i);
}

static void close_mark(struct labels *labels, size_t place, const struct label_mark *mark)
{
    uint32_t at = labels->open[place];
    labels->nodes[at].exit_flags = (uint8_t)mark->flags;
    labels->nodes[at].exception = mark->exception;
    close_node(labels, place);
    if (mark->exception)
        labels->nodes[labels->nodes[at].owner].children_epoch++;
    label_step_ended(labels, at);
}

/* It gives back the reference for being open. */
static enum label_result after_close(struct labels *labels, uint32_t at, uint32_t thread,
                                     int64_t seq, int64_t ns)
{
    bool room = make_room(labels);
    if (room)
        add_stretch(labels, seq, ns, at, thread);
    drop_ref(labels, at);
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
    uint32_t at = make_room(labels) ? push_node(labels, &mark) : LABEL_NONE;
    if (!at)
        return LABEL_NO_MEMORY;
    labels->nodes[at].user = user;
    *id = labels->nodes[at].id;
    add_stretch(labels, seq, ns, LABEL_NONE, thread);
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
    close_node(labels, place - 1);
    return after_close(labels, at, labels->nodes[at].thread, seq, ns);
}

enum label_result label_cut(struct labels *labels, int64_t seq, int64_t ns)
{
    if (!make_room(labels))
        return LABEL_NO_MEMORY;
    add_stretch(labels, seq, ns, LABEL_NONE, labels->nodes[innermost(labels)].thread);
    label_settle(labels, false);
    return LABEL_MADE;
}

enum label_result label_prepare(struct labels *labels, uint32_t thread, int64_t seq, int64_t ns)
{
    uint32_t owner = owner_of(labels, innermost(labels));
    const struct label_stretch *last = labels->count ? label_at(labels, labels->count - 1) : NULL;
    if (last && last->prepares && last->thread == thread)
        return LABEL_IGNORED;
    if (owner != LABEL_ROOT && !label_is_step(&labels->nodes[owner]))
        return LABEL_IGNORED;
    if (!make_room(labels))
        return LABEL_NO_MEMORY;
    add_stretch(labels, seq, ns, LABEL_NONE, thread);
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
        drop_ref(labels, outermost);
        outermost = at;
    }
    return outermost ? after_close(labels, outermost, thread, seq, ns) : LABEL_IGNORED;
}

/* ---- settling ---- */

/* What was given out of a node stays its label. */
static void fix_path(struct labels *labels, const struct label_stretch *stretch)
{
    for (uint32_t at = stretch->node; at && !labels->nodes[at].fixed; at = labels->nodes[at].parent)
        labels->nodes[at].fixed = true;
    labels->nodes[stretch->owner].fixed |= stretch->owner != LABEL_ROOT;
    const struct label_node *node = &labels->nodes[stretch->node];
    if (node->kind != MARK_FORWARD || node->label != LABEL_NO_GRAD)
        return;
    uint64_t at = map_get(&labels->modules_by_identity, node->identity);
    if (at != MAP_NONE)
        labels->modules[at].given_up = true;
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
    for (; labels->settled < labels->count; labels->settled++)
        labels->stretches[labels->head + labels->settled].known = true;
}

void label_marks_begin(struct labels *labels, bool own_steps)
{
    labels->marked = true;
    labels->steps.off = own_steps;
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

/* ---- begin, end, check ---- */

bool label_start(struct labels *labels, int64_t seq, int64_t ns)
{
    *labels = (struct labels){.limit = LABEL_WINDOW, .next_pass = 64};
    labels->steps.waiting = true;
    labels->steps.serial = 1;
    if (!MEM_GROW(labels->nodes, labels->node_cap, 1) || !make_room(labels)) {
        label_clear(labels);
        return false;
    }
    labels->nodes[LABEL_ROOT] =
        (struct label_node){.open = true, .known = true, .gone = {.forward = LABEL_COUNT}};
    labels->node_count = 1;
    add_stretch(labels, seq, ns, LABEL_NONE, 0);
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
        close_node(labels, labels->open_count - 1);
        drop_ref(labels, at);
    }
    labels->nodes[LABEL_ROOT].open = false;
    labels->ended = true;
    label_settle(labels, true);
}

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
