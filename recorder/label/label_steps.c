/*
 * Which step a stretch belongs to.
 *
 * Units are what can end a step: an outermost optimizer or scaler step that did not fail; a
 * backward with an optimizer in it (run from hooks: all such are one optimizer). They are decided
 * in order. A unit begins a new step, after the one before it, if its optimizer was used in the
 * current step already; or if it is its optimizer's first use and some optimizer of the current
 * step is not used again. The latter needs what comes later.
 *
 * Backwards without an optimizer are candidates too, until an optimizer was seen: in a run that has
 * none, one that is followed by a forward or a zero_grad ends a step.
 *
 * What follows the end of a step belongs to the next one, but for evaluation before its first
 * forward or zero_grad and what is before that; and nothing does if no such mark comes, or the
 * program is over. Where the first step had no zero_grad, the loop ends with one: what is right
 * behind a step, and what is before that, belongs to that step; so it is where an evaluation comes
 * behind it, and from then on. The first zero_grad behind an evaluation does too, if none came
 * before the evaluation. Where the first step had one, a zero_grad behind a step, after which
 * nothing of a step comes and nothing is refused, is of none.
 *
 * A scaler's own identity, if it is not that of its optimizer, becomes a second name of the
 * optimizer that it ran last: a scaler that skips its optimizer's step is a unit all the same.
 */
#include "label.h"

#include <string.h>

#include "mem.h"

enum label_ahead {
    AHEAD_UNKNOWN, /* nothing that tells */
    AHEAD_WORK,    /* this stretch, or the next that tells, is part of a step */
    AHEAD_EVAL,
    AHEAD_NOTHING /* the program is over: label_no_more_steps */
};

enum label_tail { /* what comes first behind a step's end */
                  TAIL_UNKNOWN,
                  TAIL_OTHER, /* no zero_grad */
                  TAIL_ZERO,
                  TAIL_ZERO_THEN_EVAL,
                  TAIL_ZERO_THEN_UNKNOWN
};

#define FROM_HOOKS UINT64_MAX /* identity of the optimizers that run inside of backwards */

void label_step_clear(struct label_steps *steps)
{
    map_clear(&steps->optimizers_by_identity);
    mem_free(steps->optimizers);
    mem_free(steps->members);
    mem_free(steps->units);
    *steps = (struct label_steps){0};
}

/* ---- units ---- */

static uint32_t find_optimizer(const struct label_steps *steps, uint64_t identity)
{
    uint64_t at = map_get(&steps->optimizers_by_identity, identity);
    return at == MAP_NONE ? LABEL_NO_OPTIMIZER : (uint32_t)at;
}

/* More than can be told apart count as the first one. */
static uint32_t get_optimizer(struct label_steps *steps, uint64_t identity)
{
    uint32_t at = find_optimizer(steps, identity);
    if (at != LABEL_NO_OPTIMIZER)
        return at;
    if (steps->optimizer_count == LABEL_MAX_MODULES)
        return 0;
    if (!MEM_GROW(steps->optimizers, steps->optimizer_cap, steps->optimizer_count + 1) ||
        !map_put(&steps->optimizers_by_identity, identity, steps->optimizer_count, NULL))
        return LABEL_NO_OPTIMIZER;
    steps->optimizers[steps->optimizer_count] = (struct label_optimizer){0};
    return (uint32_t)steps->optimizer_count++;
}

static uint32_t optimizer_of_scaler(struct label_steps *steps, const struct label_node *node)
{
    uint32_t own = find_optimizer(steps, node->identity);
    uint32_t inner = find_optimizer(steps, node->user);
    uint32_t at = inner;
    if (!node->has_step) {
        at = get_optimizer(steps, node->identity);
        if (own == LABEL_NO_OPTIMIZER && at != LABEL_NO_OPTIMIZER)
            steps->optimizers[at].nameless = true;
        return at;
    }
    if (at == LABEL_NO_OPTIMIZER && own != LABEL_NO_OPTIMIZER && steps->optimizers[own].nameless)
        at = own;
    if (at == LABEL_NO_OPTIMIZER)
        at = get_optimizer(steps, node->user);
    bool room = steps->optimizers_by_identity.count < 2 * LABEL_MAX_MODULES;
    if (at != LABEL_NO_OPTIMIZER && room) {
        /* Without memory the other name stays unknown. */
        map_put(&steps->optimizers_by_identity, node->identity, at, NULL);
        map_put(&steps->optimizers_by_identity, node->user, at, NULL);
        steps->optimizers[at].nameless = false;
    }
    return at;
}

void label_step_begins(struct labels *labels, uint32_t node)
{
    uint64_t identity = labels->nodes[node].identity;
    for (uint32_t at = labels->nodes[node].owner; at; at = labels->nodes[at].owner) {
        struct label_node *around = &labels->nodes[at];
        if (around->kind == MARK_SCALER && !around->has_step)
            around->user = identity;
        else if (around->has_step)
            return;
        around->has_step = true;
    }
}

static bool push_unit(struct label_steps *steps, struct label_unit unit)
{
    if (steps->unit_head && steps->unit_head >= steps->unit_count) {
        memmove(steps->units, steps->units + steps->unit_head,
                steps->unit_count * sizeof *steps->units);
        steps->unit_head = 0;
    }
    if (!MEM_GROW(steps->units, steps->unit_cap, steps->unit_head + steps->unit_count + 1))
        return false;
    steps->units[steps->unit_head + steps->unit_count++] = unit;
    steps->units_seen++;
    if (unit.optimizer != LABEL_NO_OPTIMIZER) {
        steps->optimizers[unit.optimizer].last_use = steps->units_seen;
        steps->updates_seen++;
    }
    return true;
}

void label_own_steps(struct labels *labels)
{
    labels->steps.off = true;
    labels->steps.unit_count = labels->steps.unit_head = 0;
}

void label_no_more_steps(struct labels *labels, int64_t seq)
{
    if (labels->steps.over)
        return;
    labels->steps.over = true;
    labels->steps.over_seq = seq;
}

/* Whether the stretch lies behind the end of the program. */
static bool is_over(const struct label_steps *steps, const struct label_stretch *stretch)
{
    return steps->over && stretch->begin_seq >= steps->over_seq;
}

bool label_step_ended(struct labels *labels, uint32_t at)
{
    struct label_steps *steps = &labels->steps;
    struct label_node *node = &labels->nodes[at];
    bool backward = node->kind == MARK_BACKWARD;
    if (steps->off || node->exception || node->under_step || !(backward || label_is_step(node)))
        return true;
    struct label_unit unit = {at, node->id, LABEL_NO_OPTIMIZER};
    if (!backward || node->has_step) {
        bool scaler = node->kind == MARK_SCALER;
        unit.optimizer = scaler ? optimizer_of_scaler(steps, node)
                                : get_optimizer(steps, backward ? FROM_HOOKS : node->identity);
        if (unit.optimizer == LABEL_NO_OPTIMIZER)
            return false;
    }
    node->unit = push_unit(steps, unit);
    return node->unit;
}

/* ---- decisions ---- */

static void answer(struct labels *labels, const struct label_unit *unit, enum label_answer ends)
{
    struct label_node *node = &labels->nodes[unit->node];
    if (unit->id && node->id == unit->id)
        node->ends_step = (uint8_t)ends;
}

static void begin_step(struct label_steps *steps)
{
    steps->serial++;
    steps->member_count = 0;
}

static bool all_come_again(const struct label_steps *steps)
{
    for (size_t i = 0; i < steps->member_count; i++)
        if (steps->optimizers[steps->members[i]].last_use <= steps->units_decided)
            return false;
    return true;
}

/* Does the unit begin a new step? */
static enum label_answer begins_step(const struct label_steps *steps, const struct label_unit *unit)
{
    const struct label_optimizer *optimizer = &steps->optimizers[unit->optimizer];
    if (!steps->member_count)
        return LABEL_NO;
    if (optimizer->in_step == steps->serial)
        return LABEL_YES;
    return optimizer->decided || all_come_again(steps) ? LABEL_NO : LABEL_UNKNOWN;
}

static enum label_answer backward_ends_step(const struct labels *labels,
                                            const struct label_unit *unit)
{
    const struct label_node *node = &labels->nodes[unit->node];
    if (labels->steps.optimizer_count)
        return LABEL_NO;
    if (!labels->steps.by_backward)
        return LABEL_UNKNOWN;
    if (!node->next)
        return labels->nodes[node->owner].open ? LABEL_UNKNOWN : LABEL_NO;
    unsigned next = labels->nodes[node->next].kind;
    return next == MARK_FORWARD || next == MARK_ZERO_GRAD ? LABEL_YES : LABEL_NO;
}

static bool add_member(struct label_steps *steps, uint32_t optimizer)
{
    struct label_optimizer *one = &steps->optimizers[optimizer];
    one->decided = true;
    if (one->in_step == steps->serial)
        return true;
    if (!MEM_GROW(steps->members, steps->member_cap, steps->member_count + 1))
        return false;
    one->in_step = steps->serial;
    steps->members[steps->member_count++] = optimizer;
    return true;
}

/* The first unit that waits. False: it cannot be decided yet. */
static bool decide_one(struct labels *labels, bool force)
{
    struct label_steps *steps = &labels->steps;
    struct label_unit unit = steps->units[steps->unit_head];
    if (unit.optimizer == LABEL_NO_OPTIMIZER) {
        enum label_answer ends = backward_ends_step(labels, &unit);
        if (ends == LABEL_UNKNOWN && !force)
            return false;
        answer(labels, &unit, ends == LABEL_YES ? LABEL_YES : LABEL_NO);
    } else {
        enum label_answer begins = begins_step(steps, &unit);
        if (begins == LABEL_UNKNOWN && !force)
            return false;
        answer(labels, &steps->last, begins == LABEL_NO ? LABEL_NO : LABEL_YES);
        if (begins != LABEL_NO)
            begin_step(steps);
        add_member(steps, unit.optimizer); /* without memory the step may end late */
        steps->last = unit;
    }
    steps->unit_head++;
    steps->unit_count--;
    steps->units_decided++;
    return true;
}

void label_step_decide(struct labels *labels)
{
    while (labels->steps.unit_count && decide_one(labels, false))
        ;
}

/* Until it is known whether this unit ends its step: with what is known now. */
static void force_answer(struct labels *labels, const struct label_node *node)
{
    struct label_steps *steps = &labels->steps;
    if (!steps->optimizer_count)
        steps->by_backward = true;
    while (node->ends_step == LABEL_UNKNOWN) {
        if (steps->last.id == node->id && !steps->unit_count) {
            answer(labels, &steps->last, LABEL_YES);
            begin_step(steps);
            steps->last = (struct label_unit){0};
        } else if (steps->unit_count) {
            decide_one(labels, true);
        } else {
            return;
        }
    }
}

/* ---- stretches ---- */

static bool tells(unsigned label)
{
    return label != LABEL_OTHER && label != LABEL_NO_GRAD;
}

/* What tells next, if that is a zero_grad also what tells behind it. `beyond` is what tells first,
 * zero_grads apart: enum label_ahead. */
static enum label_tail tail_of(const struct label_steps *steps, const struct label_stretch *stretch,
                               enum label_tail behind, uint8_t *beyond)
{
    if (is_over(steps, stretch)) {
        *beyond = AHEAD_NOTHING;
        return TAIL_OTHER;
    }
    if (!stretch->known) {
        *beyond = AHEAD_UNKNOWN;
        return TAIL_UNKNOWN;
    }
    if (!tells(stretch->label))
        return behind;
    if (stretch->label != LABEL_ZERO_GRAD) {
        *beyond = stretch->label == LABEL_EVAL ? AHEAD_EVAL : AHEAD_WORK;
        return TAIL_OTHER;
    }
    return *beyond == AHEAD_EVAL      ? TAIL_ZERO_THEN_EVAL
           : *beyond == AHEAD_UNKNOWN ? TAIL_ZERO_THEN_UNKNOWN
                                      : TAIL_ZERO;
}

void label_step_look_ahead(struct labels *labels, enum label_answer rest)
{
    uint8_t ahead = AHEAD_UNKNOWN;
    uint8_t beyond = rest == LABEL_NO ? AHEAD_NOTHING : AHEAD_UNKNOWN;
    enum label_tail tail = rest == LABEL_NO ? TAIL_OTHER : TAIL_UNKNOWN;
    enum label_answer works = rest; /* whether more of a step than a zero_grad follows */
    for (size_t i = labels->count; i > labels->settled; i--) {
        struct label_stretch *stretch = &labels->stretches[labels->head + i - 1];
        if (stretch->refused)
            works = LABEL_YES;
        bool zero = stretch->label == LABEL_ZERO_GRAD && works != LABEL_YES;
        if (is_over(&labels->steps, stretch)) {
            ahead = AHEAD_NOTHING;
            works = LABEL_NO;
        } else if (!stretch->known || (zero && works == LABEL_UNKNOWN)) {
            ahead = AHEAD_UNKNOWN;
        } else if (tells(stretch->label) && !zero) {
            ahead = stretch->label == LABEL_EVAL ? AHEAD_EVAL : AHEAD_WORK;
            works = ahead == AHEAD_WORK ? LABEL_YES : works;
        }
        stretch->ahead = ahead;
        tail = tail_of(&labels->steps, stretch, tail, &beyond);
        stretch->tail = (uint8_t)tail;
    }
}

/* No mark has begun yet, and no phase of the program's own that it is in. */
static bool is_start(const struct label_stretch *stretch)
{
    return stretch->node == LABEL_ROOT && !stretch->before;
}

/* Whether the stretch, right behind a step's end, leads to the zero_grad that ends the loop. */
static enum label_answer ends_with_zero(const struct label_steps *steps,
                                        const struct label_stretch *stretch)
{
    switch ((enum label_tail)stretch->tail) {
    case TAIL_UNKNOWN:
        return LABEL_UNKNOWN;
    case TAIL_OTHER:
        return LABEL_NO;
    case TAIL_ZERO_THEN_EVAL:
        return LABEL_YES;
    case TAIL_ZERO_THEN_UNKNOWN:
        return steps->zero_first ? LABEL_UNKNOWN : LABEL_YES;
    case TAIL_ZERO:
        break;
    }
    return steps->zero_first ? LABEL_NO : LABEL_YES;
}

bool label_step_of(struct labels *labels, struct label_stretch *stretch, bool force)
{
    struct label_steps *steps = &labels->steps;
    stretch->step = LABEL_NO_STEP;
    if (steps->off || is_over(steps, stretch))
        return true;
    int64_t number = steps->number;
    bool waiting = steps->waiting;
    const struct label_node *closed = &labels->nodes[stretch->closed];
    if (stretch->closed && closed->unit) {
        if (closed->ends_step == LABEL_UNKNOWN && force)
            force_answer(labels, closed);
        if (closed->ends_step == LABEL_UNKNOWN && !force)
            return false;
        number += closed->ends_step == LABEL_YES;
        waiting |= closed->ends_step == LABEL_YES;
        steps->any_ended |= closed->ends_step == LABEL_YES;
    }
    bool ended = waiting && (steps->step_ended || number > steps->number);
    bool zeroed = steps->zeroed && number == steps->number;
    bool leads = ended || (waiting && steps->any_ended && !steps->zero_first && !zeroed);
    enum label_answer zeroes = leads ? ends_with_zero(steps, stretch) : LABEL_NO;
    if (zeroes == LABEL_UNKNOWN && !force)
        return false;
    if (zeroes == LABEL_YES) {
        stretch->step = number - 1;
        steps->zero_first &= stretch->tail != TAIL_ZERO_THEN_EVAL;
        steps->number = number;
        steps->zeroed = zeroed || stretch->label == LABEL_ZERO_GRAD;
        steps->waiting = steps->step_ended = true;
        return true;
    }
    bool first = number == 0 && stretch->label == LABEL_ZERO_GRAD; /* of the first step */
    steps->zero_first |= !steps->any_ended && stretch->label == LABEL_ZERO_GRAD;
    unsigned ahead = first ? AHEAD_WORK : stretch->ahead;
    if (waiting && ahead == AHEAD_UNKNOWN && !force && !is_start(stretch))
        return false;
    if (!waiting || (ahead == AHEAD_WORK && !is_start(stretch)))
        stretch->step = number;
    steps->waiting = waiting && !(ahead == AHEAD_WORK && tells(stretch->label));
    steps->step_ended = ended && !tells(stretch->label);
    steps->zeroed = zeroed;
    steps->number = number;
    return true;
}

/* ---- a guess ---- */

/* Everything is decided by force on the real thing, which is then put back as it was. */
void label_step_guess(struct labels *labels)
{
    struct label_steps *steps = &labels->steps, saved = *steps;
    size_t optimizers = saved.optimizer_count * sizeof *saved.optimizers;
    size_t members = saved.member_count * sizeof *saved.members;
    struct label_optimizer *kept = optimizers ? mem_alloc(1, optimizers) : NULL;
    uint32_t *kept_members = members ? mem_alloc(1, members) : NULL;
    bool can = (kept || !optimizers) && (kept_members || !members);
    if (can && optimizers)
        memcpy(kept, saved.optimizers, optimizers);
    if (can && members)
        memcpy(kept_members, saved.members, members);
    for (size_t i = labels->settled; can && i < labels->count; i++)
        label_step_of(labels, &labels->stretches[labels->head + i], true);
    if (can) {
        for (size_t i = 0; i < saved.unit_count; i++)
            answer(labels, &steps->units[saved.unit_head + i], LABEL_UNKNOWN);
        answer(labels, &saved.last, LABEL_UNKNOWN);
        saved.members = steps->members; /* it may have grown */
        saved.member_cap = steps->member_cap;
        *steps = saved;
        if (optimizers)
            memcpy(steps->optimizers, kept, optimizers);
        if (members)
            memcpy(steps->members, kept_members, members);
    }
    mem_free(kept);
    mem_free(kept_members);
}
