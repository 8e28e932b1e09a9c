/*
 * Changes to the lives of blocks, and the level that they lead to.
 */
#include <stdlib.h>

#include "error.h"
#include "levers_step.h"
#include "mem.h"

static bool add_change(struct levers_edit *edit, struct levers_change change)
{
    if (!MEM_GROW(edit->changes, edit->cap, edit->count + 1))
        return false;
    edit->changes[edit->count++] = change;
    return true;
}

bool levers_cut(struct levers_edit *edit, size_t block, int64_t from, int64_t to)
{
    return from >= to || add_change(edit, (struct levers_change){block, from, to, 0, LEVERS_CUT});
}

bool levers_lengthen(struct levers_edit *edit, size_t block, int64_t to)
{
    return add_change(edit, (struct levers_change){block, 0, to, 0, LEVERS_LONGER});
}

bool levers_extra(struct levers_edit *edit, int64_t bytes, int64_t from, int64_t to)
{
    return from >= to || bytes == 0 ||
           add_change(edit, (struct levers_change){SIZE_MAX, from, to, bytes, LEVERS_EXTRA});
}

bool levers_spike(struct levers_edit *edit, int64_t bytes, int64_t at)
{
    return bytes <= 0 ||
           add_change(edit, (struct levers_change){SIZE_MAX, at, at, bytes, LEVERS_SPIKE});
}

void levers_edit_clear(struct levers_edit *edit)
{
    mem_free(edit->changes);
    *edit = (struct levers_edit){0};
}

static int by_block(const void *one, const void *other)
{
    const struct levers_change *a = one, *b = other;
    if (a->how != b->how)
        return a->how < b->how ? -1 : 1;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->from < b->from ? -1 : a->from > b->from;
}

bool levers_unite(struct levers_edit *edit, const struct levers_edit *other)
{
    size_t kept = 0;
    for (size_t i = 0; i < other->count; i++)
        if (!add_change(edit, other->changes[i]))
            return false;
    if (edit->count)
        qsort(edit->changes, edit->count, sizeof *edit->changes, by_block);
    for (size_t i = 0; i < edit->count; i++) {
        struct levers_change *last = kept ? &edit->changes[kept - 1] : NULL;
        const struct levers_change *change = &edit->changes[i];
        bool same = last && change->how <= LEVERS_LONGER && last->how == change->how &&
                    last->block == change->block && change->from <= last->to;
        if (same)
            last->to = change->to > last->to ? change->to : last->to;
        else
            edit->changes[kept++] = *change;
    }
    edit->count = kept;
    return true;
}

/* ---- levels ---- */

/* Of those at one event, in this order: what is there or gone; then the moment, which sees that;
 * then the end of what a block has less, for it ends with the block, whose own event comes behind.
 */
enum shift_kind { SHIFT_LIFE, SHIFT_SPIKE, SHIFT_REST };

struct shift {
    int64_t seq, change;
    enum shift_kind kind;
};

static int by_time(const void *one, const void *other)
{
    const struct shift *a = one, *b = other;
    if (a->seq != b->seq)
        return a->seq < b->seq ? -1 : 1;
    return (int)a->kind - (int)b->kind;
}

static size_t shifts_of(const struct levers_step *step, const struct levers_change *change,
                        struct shift *out)
{
    int64_t from = change->from, to = change->to, bytes = change->bytes;
    if (change->how == LEVERS_SPIKE) {
        *out = (struct shift){from, bytes, SHIFT_SPIKE};
        return 1;
    }
    if (change->how != LEVERS_EXTRA) {
        const struct levers_block *block = &step->blocks[change->block];
        bool longer = change->how == LEVERS_LONGER;
        bytes = longer ? block->size : -block->size;
        from = longer ? block->end : from > block->seq ? from : block->seq;
        to = longer || to < block->end ? to : block->end;
    }
    if (from >= to)
        return 0;
    const bool less = change->how == LEVERS_EXTRA && bytes < 0;
    out[0] = (struct shift){from, bytes, SHIFT_LIFE};
    out[1] = (struct shift){to, -bytes, less ? SHIFT_REST : SHIFT_LIFE};
    return 2;
}

struct level {
    int64_t now, highest, at;
};

static void see(struct level *level, int64_t value, int64_t seq)
{
    if (value > level->highest) {
        level->highest = value;
        level->at = seq;
    }
}

static void shift(struct level *level, const struct shift *shift)
{
    if (shift->kind == SHIFT_SPIKE)
        see(level, level->now + shift->change, shift->seq);
    else
        level->now += shift->change;
}

/* As the moment of a refusal comes. */
static void go_to_moment(const struct levers_step *step, const struct shift *shifts, size_t count,
                         struct level *level)
{
    for (size_t i = 0; i < step->event_count && step->events[i].seq < step->moment; i++)
        level->now += step->events[i].change;
    for (size_t at = 0; at < count && shifts[at].seq < step->moment; at++)
        level->now += shifts[at].kind == SHIFT_SPIKE ? 0 : shifts[at].change;
    level->highest = level->now;
    level->at = step->moment;
}

static void go_through(const struct levers_step *step, const struct shift *shifts, size_t count,
                       struct level *level)
{
    size_t at = 0;
    while (at < count && shifts[at].seq <= step->begin)
        shift(level, &shifts[at++]);
    level->highest = level->now;
    level->at = step->begin;
    for (size_t i = 0; i < step->event_count; i++) {
        while (at < count && shifts[at].seq <= step->events[i].seq)
            shift(level, &shifts[at++]);
        level->now += step->events[i].change;
        see(level, level->now, step->events[i].seq);
    }
}

int levers_highest(const struct levers_step *step, const struct levers_edit *edit, int64_t *out,
                   int64_t *at)
{
    struct shift *shifts = mem_alloc(2 * edit->count + 1, sizeof *shifts);
    struct level level = {.now = step->base};
    size_t count = 0;
    if (!shifts)
        return ERR_NOMEM;
    for (size_t i = 0; i < edit->count; i++)
        count += shifts_of(step, &edit->changes[i], shifts + count);
    qsort(shifts, count, sizeof *shifts, by_time);
    (step->moment != LEVERS_NEVER ? go_to_moment : go_through)(step, shifts, count, &level);
    *out = level.highest;
    if (at)
        *at = level.at;
    mem_free(shifts);
    return 0;
}
