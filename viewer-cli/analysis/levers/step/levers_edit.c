/*
 * Changes to the lives of blocks, and the level that they lead to.
 */
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "levers_step.h"
#include "mem.h"
#include "radix.h"

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

bool levers_part(struct levers_edit *edit, size_t block, int64_t thousandths)
{
    return add_change(edit, (struct levers_change){block, 0, 0, thousandths, LEVERS_PART});
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

static bool is_in_order(const struct levers_change *changes, size_t count)
{
    size_t ordered = 1;
    while (ordered < count && by_block(&changes[ordered - 1], &changes[ordered]) <= 0)
        ordered++;
    return ordered >= count;
}

/* What was united before is in order already. */
static void put_in_order(struct levers_change *changes, size_t count)
{
    if (!is_in_order(changes, count))
        qsort(changes, count, sizeof *changes, by_block);
}

/* Each `how` behind the other: a lever goes through the blocks once, so that mostly they are in
 * order then. */
static void copy_by_how(struct levers_change *to, const struct levers_change *from, size_t count)
{
    size_t places[LEVERS_SPIKE + 2] = {0};
    for (size_t i = 0; i < count; i++)
        places[from[i].how + 1]++;
    for (size_t how = 1; how <= LEVERS_SPIKE; how++)
        places[how] += places[how - 1];
    for (size_t i = 0; i < count; i++)
        to[places[from[i].how]++] = from[i];
}

/* Both in order; `edit` has room for all of them. */
static void merge(struct levers_edit *edit, const struct levers_change *from, size_t count)
{
    size_t left = edit->count, at = left + count;
    edit->count = at;
    while (count) {
        bool own = left && by_block(&edit->changes[left - 1], &from[count - 1]) > 0;
        edit->changes[--at] = own ? edit->changes[--left] : from[--count];
    }
}

bool levers_unite(struct levers_edit *edit, const struct levers_edit *other)
{
    size_t kept = 0, count = other->count;
    struct levers_change *added = mem_resize(NULL, count + 1, sizeof *added);
    if (!added || !MEM_GROW(edit->changes, edit->cap, edit->count + count)) {
        mem_free(added);
        return false;
    }
    copy_by_how(added, other->changes, count);
    put_in_order(added, count);
    put_in_order(edit->changes, edit->count);
    merge(edit, added, count);
    mem_free(added);
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

/* Before the first event and after the last one it does not matter when: a sort of so few numbers
 * takes a pass or two. */
#define LAST_SEQ (INT64_MAX / 4)

struct shift {
    int64_t when; /* 4 * the event + kind */
    int64_t change;
};

static int64_t seq_of(const struct shift *shift)
{
    return shift->when / 4;
}

static enum shift_kind kind_of(const struct shift *shift)
{
    return (enum shift_kind)(shift->when % 4);
}

struct shifts {
    const struct levers_step *step;
    const int64_t *sizes; /* of blocks with all of their parts; NULL: there are none */
    int64_t first, last;  /* events: what is outside of these is moved to them */
    struct shift *shifts;
    size_t count;
};

static void add_shift(struct shifts *out, int64_t seq, int64_t bytes, enum shift_kind kind)
{
    seq = seq < out->first ? out->first : seq > out->last ? out->last : seq;
    out->shifts[out->count++] = (struct shift){4 * seq + kind, bytes};
}

static void add_shifts(struct shifts *out, int64_t from, int64_t to, int64_t bytes,
                       enum shift_kind end)
{
    if (from >= to)
        return;
    add_shift(out, from, bytes, SHIFT_LIFE);
    add_shift(out, to, -bytes, end);
}

static void add_lives(struct shifts *out, const struct levers_change *change)
{
    const struct levers_block *block = &out->step->blocks[change->block];
    int64_t size = out->sizes ? out->sizes[change->block] : block->size;
    int64_t from = change->from > block->seq ? change->from : block->seq;
    if (change->how == LEVERS_LONGER)
        add_shifts(out, block->end, change->to, size, SHIFT_LIFE);
    else
        add_shifts(out, from, change->to < block->end ? change->to : block->end, -size, SHIFT_LIFE);
}

static void add_change_of(struct shifts *out, const struct levers_change *change)
{
    switch (change->how) {
    case LEVERS_SPIKE:
        add_shift(out, change->from, change->bytes, SHIFT_SPIKE);
        break;
    case LEVERS_EXTRA:
        add_shifts(out, change->from, change->to, change->bytes,
                   change->bytes < 0 ? SHIFT_REST : SHIFT_LIFE);
        break;
    case LEVERS_CUT:
    case LEVERS_LONGER:
        add_lives(out, change);
        break;
    case LEVERS_PART: /* read_parts has them */
        break;
    }
}

static int64_t part_of(int64_t size, int64_t thousandths)
{
    return size / 1000 * thousandths + size % 1000 * thousandths / 1000;
}

/* Each takes its share of what those before it leave. */
static int read_parts(const struct levers_edit *edit, struct shifts *out, int64_t **sizes)
{
    const struct levers_step *step = out->step;
    for (size_t i = 0; i < edit->count; i++) {
        const struct levers_change *change = &edit->changes[i];
        if (change->how != LEVERS_PART)
            continue;
        if (!*sizes) {
            if (!(*sizes = mem_resize(NULL, step->count + 1, sizeof **sizes)))
                return ERR_NOMEM;
            for (size_t j = 0; j < step->count; j++)
                (*sizes)[j] = step->blocks[j].size;
        }
        const struct levers_block *block = &step->blocks[change->block];
        int64_t *size = &(*sizes)[change->block], part = part_of(*size, change->bytes);
        add_shifts(out, block->seq, block->end, part - *size, SHIFT_REST);
        *size = part;
    }
    return 0;
}

/* From before all that is looked at until after it. */
static void find_range(const struct levers_step *step, struct shifts *out)
{
    const bool refused = step->moment != LEVERS_NEVER;
    int64_t first = step->begin, last = step->end;
    if (refused && step->moment < first)
        first = step->moment;
    if (refused && step->moment > last)
        last = step->moment;
    out->first = first > 1 ? first - 1 : 0;
    out->last = last < LAST_SEQ - 1 ? last + 1 : LAST_SEQ - 1;
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
    if (kind_of(shift) == SHIFT_SPIKE)
        see(level, level->now + shift->change, seq_of(shift));
    else
        level->now += shift->change;
}

/* As the moment of a refusal comes. */
static void go_to_moment(const struct levers_step *step, const struct shift *shifts, size_t count,
                         struct level *level)
{
    for (size_t i = 0; i < step->event_count && step->events[i].seq < step->moment; i++)
        level->now += step->events[i].change;
    for (size_t at = 0; at < count && seq_of(&shifts[at]) < step->moment; at++)
        level->now += kind_of(&shifts[at]) == SHIFT_SPIKE ? 0 : shifts[at].change;
    level->highest = level->now;
    level->at = step->moment;
}

static void go_through(const struct levers_step *step, const struct shift *shifts, size_t count,
                       struct level *level)
{
    size_t at = 0;
    while (at < count && seq_of(&shifts[at]) <= step->begin)
        shift(level, &shifts[at++]);
    level->highest = level->now;
    level->at = step->begin;
    for (size_t i = 0; i < step->event_count; i++) {
        while (at < count && seq_of(&shifts[at]) <= step->events[i].seq)
            shift(level, &shifts[at++]);
        level->now += step->events[i].change;
        see(level, level->now, step->events[i].seq);
    }
}

int levers_highest(const struct levers_step *step, const struct levers_edit *edit, int64_t *out,
                   int64_t *at)
{
    struct shifts all = {.step = step,
                         .shifts = mem_resize(NULL, 2 * edit->count + 1, sizeof *all.shifts)};
    struct level level = {.now = step->base};
    int64_t *sizes = NULL;
    find_range(step, &all);
    int err = all.shifts ? read_parts(edit, &all, &sizes) : ERR_NOMEM;
    all.sizes = sizes;
    for (size_t i = 0; i < edit->count && err == 0; i++)
        add_change_of(&all, &edit->changes[i]);
    if (err == 0 && !radix_sort(all.shifts, all.count, sizeof *all.shifts))
        err = ERR_NOMEM;
    if (err == 0)
        (step->moment != LEVERS_NEVER ? go_to_moment : go_through)(step, all.shifts, all.count,
                                                                   &level);
    mem_free(sizes);
    mem_free(all.shifts);
    if (err < 0)
        return err;
    *out = level.highest;
    if (at)
        *at = level.at;
    return 0;
}
