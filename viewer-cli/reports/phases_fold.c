/*
 * phases_fold.c - which rows repeat.
 */
#include "phases_fold.h"

#include <string.h>

#include "buf.h"
#include "group.h"
#include "human.h"
#include "mem.h"

enum {
    LONGEST = 32, /* rows of one repetition: the phases of a step with micro-batches */
    TWICE = 2     /* what is there only one more time reads better as it is */
};

/* As people see them. */
static bool looks_alike(int64_t a, int64_t b)
{
    char one[HUMAN_MAX], other[HUMAN_MAX];
    return a == b || (a >= 0 && b >= 0 && strcmp(human_bytes(one, a), human_bytes(other, b)) == 0);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool repeats(const struct phases_row *a, const struct phases_row *b)
{
    return same_text(a->name, b->name) && same_text(a->ended, b->ended) &&
           looks_alike(a->allocated, b->allocated) &&
           looks_alike(a->max_allocated, b->max_allocated) &&
           looks_alike(a->reserved, b->reserved) && looks_alike(a->max_reserved, b->max_reserved) &&
           looks_alike(a->phase_peak, b->phase_peak);
}

static size_t times_of(const struct phases_rows *all, size_t first, size_t length)
{
    size_t same = 0;
    while (first + length + same < all->count &&
           repeats(&all->rows[first + same % length], &all->rows[first + length + same]))
        same++;
    return same / length;
}

static bool is_of_one_step(const struct phases_rows *all, size_t first, size_t count)
{
    for (size_t i = first + 1; i < first + count; i++)
        if (all->rows[i].step != all->rows[first].step)
            return false;
    return true;
}

static bool begins_step(const struct phases_rows *all, size_t at)
{
    return !at || all->rows[at - 1].step != all->rows[at].step;
}

/* Inside of one step, or whole steps: each repetition begins where a step does. */
static bool is_well_cut(const struct phases_rows *all, size_t first, size_t length, size_t times)
{
    if (is_of_one_step(all, first, length * (times + 1)))
        return true;
    for (size_t i = 0; i <= times; i++)
        if (!begins_step(all, first + i * length))
            return false;
    return true;
}

struct phases_fold phases_fold_at(const struct phases_rows *all, size_t first)
{
    struct phases_fold best = {1, 0};
    size_t spared = 0;
    for (size_t length = 1; length <= LONGEST && first + 2 * length <= all->count; length++) {
        size_t times = times_of(all, first, length);
        if (times >= TWICE && times * length - 1 > spared &&
            is_well_cut(all, first, length, times)) {
            best = (struct phases_fold){length, times};
            spared = times * length - 1;
        }
    }
    return best;
}

/* Of two that look alike: neither is known, or both are. */
static void widen(int64_t *apart, int64_t a, int64_t b)
{
    int64_t between = a == b ? 0 : a > b ? a - b : b - a;
    *apart = between > *apart ? between : *apart;
}

bool phases_rows_alike(const struct phases_rows *a, const struct phases_rows *b, int64_t *apart)
{
    *apart = 0;
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const struct phases_row *one = &a->rows[i], *other = &b->rows[i];
        if (one->step != other->step || !repeats(one, other))
            return false;
        widen(apart, one->allocated, other->allocated);
        widen(apart, one->max_allocated, other->max_allocated);
        widen(apart, one->reserved, other->reserved);
        widen(apart, one->max_reserved, other->max_reserved);
        widen(apart, one->phase_peak, other->phase_peak);
    }
    return true;
}

bool phases_rows_add(struct phases_rows *all, const struct phases_row *row)
{
    if (!row->name || !MEM_GROW(all->rows, all->cap, all->count + 1)) {
        mem_free(row->name);
        mem_free(row->ended);
        return false;
    }
    all->rows[all->count++] = *row;
    return true;
}

void phases_rows_clear(struct phases_rows *all)
{
    for (size_t i = 0; i < all->count; i++) {
        mem_free(all->rows[i].name);
        mem_free(all->rows[i].ended);
    }
    mem_free(all->rows);
    *all = (struct phases_rows){0};
}

/* ---- as a table ---- */

static void put_nulls(struct emit *emit, int count)
{
    for (int i = 0; i < count; i++)
        emit_null(emit);
}

/* The cells of cmd_phases' columns; those for programs are empty here. */
static void put_row(struct emit *emit, const struct phases_row *row, const char *name)
{
    enum { OF_PLACE = 2, OF_TIME = 2, BEHIND = 10 };
    put_nulls(emit, OF_PLACE);
    emit_known(emit, row->step);
    emit_null(emit);
    emit_text(emit, name);
    emit_known(emit, row->allocated);
    emit_known(emit, row->max_allocated);
    emit_known(emit, row->reserved);
    emit_known(emit, row->max_reserved);
    emit_null(emit);
    emit_known(emit, row->phase_peak);
    put_nulls(emit, OF_TIME);
    emit_known(emit, row->ns);
    emit_text(emit, row->ended);
    put_nulls(emit, BEHIND);
}

/* "2 rows, 31 x" */
static void name_fold(struct buf *out, const struct phases_fold *fold)
{
    char rows[HUMAN_MAX], times[HUMAN_MAX];
    buf_print(out, "%s row%s, %s x", human_count(rows, (int64_t)fold->length),
              fold->length == 1 ? "" : "s", human_count(times, (int64_t)fold->times));
}

/* GROUP_NONE: one of them is not known, or it is no number of a time. */
static int64_t sum(int64_t a, int64_t b)
{
    int64_t both;
    if (a == GROUP_NONE || b == GROUP_NONE || __builtin_add_overflow(a, b, &both))
        return GROUP_NONE;
    return both;
}

/* One row for rows [first, first + count): where they end, their highest, and all their time. */
static void put_folded(struct emit *emit, const struct phases_rows *all, size_t first, size_t count,
                       const char *name)
{
    struct phases_row row = all->rows[first + count - 1];
    row.ns = 0;
    for (size_t i = first; i < first + count; i++) {
        const struct phases_row *one = &all->rows[i];
        row.step = one->step == row.step ? row.step : GROUP_NONE;
        row.phase_peak = one->phase_peak > row.phase_peak ? one->phase_peak : row.phase_peak;
        row.ns = sum(row.ns, one->ns);
    }
    put_row(emit, &row, name);
}

/* How to read such a row, by the first of them. */
static void put_legend(struct emit *emit, const struct phases_fold *fold, const char *name)
{
    char rows[HUMAN_MAX], times[HUMAN_MAX];
    human_count(rows, (int64_t)fold->length);
    emit_line(emit,
              "'%s': the %s%s before it %s %s more times with the same sizes; --all shows each",
              name, fold->length == 1 ? "" : rows, fold->length == 1 ? "row" : " rows",
              fold->length == 1 ? "repeats" : "repeat", human_count(times, (int64_t)fold->times));
}

bool phases_rows_put(struct emit *emit, const struct phases_rows *all)
{
    struct phases_fold first = {0};
    struct buf name = {0};
    for (size_t at = 0; at < all->count;) {
        struct phases_fold fold = phases_fold_at(all, at);
        size_t folded = fold.length * fold.times;
        for (size_t i = 0; i < fold.length; i++)
            put_row(emit, &all->rows[at + i], all->rows[at + i].name);
        at += fold.length;
        if (!folded)
            continue;
        name.count = 0;
        name_fold(&name, &fold);
        put_folded(emit, all, at, folded, buf_string(&name));
        at += folded;
        first = first.times ? first : fold;
    }
    name.count = 0;
    if (first.times) {
        name_fold(&name, &first);
        put_legend(emit, &first, buf_string(&name));
    }
    bool whole = !name.broken;
    buf_clear(&name);
    return whole;
}
