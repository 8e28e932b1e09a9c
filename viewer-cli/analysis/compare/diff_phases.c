/*
 * Both sides come sorted by name, ordinal and step, so one pass over the two side by side finds the
 * pairs, and the phases of one name stand together to be folded.
 */
#include "diff_phases.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"

/* ---- the steps of both ---- */

static const char steps_sql[] = "SELECT DISTINCT ph.step FROM phase ph"
                                "  JOIN phase_device pd ON pd.phase = ph.id"
                                " WHERE ph.process = ?1 AND pd.device = ?2"
                                "   AND ph.step BETWEEN ?3 AND ?4 ORDER BY ph.step";

static struct query ask(const struct diff_side *side, const char *sql, int64_t first_step,
                        int64_t last_step, const struct query_place *out)
{
    return query_ask(side->db, sql, Q_IN(side->process, side->device, first_step, last_step), out);
}

static bool add_step(struct diff_phases *out, int64_t step, const bool has[DIFF_SIDES])
{
    if (has[DIFF_A] && has[DIFF_B]) {
        if (!MEM_GROW(out->steps, out->step_cap, (size_t)out->common_steps + 1))
            return false;
        out->steps[out->common_steps++] = step;
        return true;
    }
    int side = has[DIFF_A] ? DIFF_A : DIFF_B;
    if (!out->own_steps[side]++)
        out->own_first[side] = step;
    out->own_last[side] = step;
    return true;
}

static int read_steps(struct diff_side *sides, int64_t first_step, int64_t last_step,
                      struct diff_phases *out)
{
    int64_t at[DIFF_SIDES], step;
    bool has[DIFF_SIDES] = {true, true};
    int err = 0;
    struct query queries[DIFF_SIDES] = {
        ask(&sides[DIFF_A], steps_sql, first_step, last_step, Q_OUT(Q_INT(step))),
        ask(&sides[DIFF_B], steps_sql, first_step, last_step, Q_OUT(Q_INT(step))),
    };
    while (err == 0) { /* has: this side's step was used, the next one is wanted */
        for (int i = 0; i < DIFF_SIDES && err == 0; i++) {
            if (!has[i])
                continue;
            at[i] = query_next(&queries[i]) ? step : INT64_MAX;
            sides[i].err = queries[i].err;
            err = sides[i].err < 0 ? sides[i].err : 0;
        }
        if (err || (at[DIFF_A] == INT64_MAX && at[DIFF_B] == INT64_MAX))
            break;
        has[DIFF_A] = at[DIFF_A] <= at[DIFF_B];
        has[DIFF_B] = at[DIFF_B] <= at[DIFF_A];
        if (!add_step(out, has[DIFF_A] ? at[DIFF_A] : at[DIFF_B], has))
            err = ERR_NOMEM;
    }
    query_end(&queries[DIFF_A]);
    query_end(&queries[DIFF_B]);
    return err;
}

static int by_number(const void *one, const void *other)
{
    const int64_t *a = one, *b = other;
    return *a < *b ? -1 : *a > *b;
}

static bool is_common(const struct diff_phases *phases, int64_t step)
{
    return step == GROUP_NONE ||
           (phases->common_steps &&
            bsearch(&step, phases->steps, (size_t)phases->common_steps, sizeof step, by_number));
}

/* ---- the phases of both ---- */

/* Outside of any step only if no steps are asked for. */
static const char phases_sql[] =
    "SELECT ph.name, ph.ordinal, ph.step, pd.peak_allocated AS peak,"
    "       row_number() OVER (PARTITION BY ph.step ORDER BY ph.begin_seq, ph.id) AS place,"
    "       ph.kind = 'other' AND pd.allocs + pd.frees = 0 AS quiet"
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND ph.domain IS NULL"
    "   AND (ph.step BETWEEN ?3 AND ?4"
    "   OR (ph.step IS NULL AND ?3 = -9223372036854775808 AND ?4 = 9223372036854775807))"
    " ORDER BY ph.name, ph.ordinal, ph.step, ph.begin_seq, ph.id";

struct reader { /* the phases of one side that are in a common step */
    struct diff_side *side;
    struct query query;
    bool there;       /* what is below is of a row */
    const char *name; /* borrowed from it */
    struct diff_phase row;
    int64_t peak;
};

#define PLACES(reader)                                                                             \
    Q_OUT(Q_TEXT((reader).name), Q_INT((reader).row.ordinal), Q_OPT((reader).row.step),            \
          Q_INT((reader).peak), Q_INT((reader).row.place), Q_INT((reader).row.quiet))

static int read_next(struct reader *reader, const struct diff_phases *phases)
{
    do
        reader->there = query_next(&reader->query);
    while (reader->there && !is_common(phases, reader->row.step));
    return reader->side->err = reader->query.err < 0 ? reader->query.err : 0;
}

static int compare_rows(const struct reader *a, const struct reader *b)
{
    if (!a->there || !b->there)
        return !a->there - !b->there;
    int order = strcmp(a->name, b->name);
    if (order)
        return order;
    if (a->row.ordinal != b->row.ordinal)
        return a->row.ordinal < b->row.ordinal ? -1 : 1;
    return a->row.step < b->row.step ? -1 : a->row.step > b->row.step;
}

static int64_t change_of(const struct diff_phase *row)
{
    return row->pairs ? row->peak[DIFF_B] - row->peak[DIFF_A] : 0;
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* Which of two phases of one name stands for both. */
static bool says_more(const struct diff_phase *a, const struct diff_phase *b)
{
    if (!a->pairs != !b->pairs)
        return a->pairs != 0;
    if (a->pairs) {
        int64_t first = magnitude(change_of(a)), second = magnitude(change_of(b));
        return first != second ? first > second : a->step < b->step;
    }
    int64_t first = a->peak[a->peak[DIFF_A] == GROUP_NONE],
            second = b->peak[b->peak[DIFF_A] == GROUP_NONE];
    return first != second ? first > second : a->step < b->step;
}

static void fold_into(struct diff_phase *row, const struct diff_phase *more)
{
    struct diff_phase sum = says_more(more, row) ? *more : *row;
    sum.name = row->name;
    sum.pairs = row->pairs + more->pairs;
    sum.quiet = row->quiet && more->quiet;
    for (int i = 0; i < DIFF_SIDES; i++)
        sum.alone[i] = row->alone[i] + more->alone[i];
    *row = sum;
}

static int add_row(struct diff_phases *out, const struct diff_phase *row, const char *name)
{
    struct diff_phase *last = out->count ? &out->rows[out->count - 1] : NULL;
    if (out->folded && last && strcmp(last->name, name) == 0) {
        fold_into(last, row);
        return 0;
    }
    if (!MEM_GROW(out->rows, out->cap, out->count + 1))
        return ERR_NOMEM;
    char *copy = mem_copy(name, strlen(name));
    if (!copy)
        return ERR_NOMEM;
    last = &out->rows[out->count++];
    *last = *row;
    last->name = copy;
    return 0;
}

/* The pair, or the phase that only one side has, that comes next. */
static int merge_next(struct reader readers[DIFF_SIDES], struct diff_phases *out)
{
    int order = compare_rows(&readers[DIFF_A], &readers[DIFF_B]);
    bool has[DIFF_SIDES] = {order <= 0, order >= 0};
    const struct reader *from = &readers[has[DIFF_A] ? DIFF_A : DIFF_B];
    struct diff_phase row = from->row;
    row.pairs = has[DIFF_A] && has[DIFF_B];
    for (int i = 0; i < DIFF_SIDES; i++) {
        row.peak[i] = has[i] ? readers[i].peak : GROUP_NONE;
        row.alone[i] = has[i] && !row.pairs;
        row.quiet = row.quiet && (!has[i] || readers[i].row.quiet);
        if (has[i] && readers[i].row.place > row.place)
            row.place = readers[i].row.place; /* behind what only the other has before it */
    }
    int err = out->folded && row.quiet ? 0 : add_row(out, &row, from->name);
    for (int i = 0; i < DIFF_SIDES && err == 0; i++)
        if (has[i])
            err = read_next(&readers[i], out);
    return err;
}

/* ---- all of it ---- */

static int by_time(const void *one, const void *other)
{
    const struct diff_phase *a = one, *b = other;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    int order = strcmp(a->name, b->name);
    return order ? order : a->ordinal < b->ordinal ? -1 : a->ordinal > b->ordinal;
}

static int by_weight(const void *one, const void *other)
{
    const struct diff_phase *a = one, *b = other;
    int64_t first = magnitude(change_of(a)), second = magnitude(change_of(b));
    if (!a->pairs != !b->pairs)
        return a->pairs ? -1 : 1;
    return first != second ? (first < second ? 1 : -1) : by_time(one, other);
}

int diff_phases_read(struct diff_side sides[DIFF_SIDES], int64_t first_step, int64_t last_step,
                     bool fold, struct diff_phases *out)
{
    struct reader readers[DIFF_SIDES] = {{.side = &sides[DIFF_A]}, {.side = &sides[DIFF_B]}};
    *out = (struct diff_phases){.folded = fold};
    int err = read_steps(sides, first_step, last_step, out);
    const struct query_place *places[] = {PLACES(readers[DIFF_A]), PLACES(readers[DIFF_B])};
    for (int i = 0; i < DIFF_SIDES && err == 0; i++) {
        readers[i].query = ask(&sides[i], phases_sql, first_step, last_step, places[i]);
        err = read_next(&readers[i], out);
    }
    while (err == 0 && (readers[DIFF_A].there || readers[DIFF_B].there))
        err = merge_next(readers, out);
    query_end(&readers[DIFF_A].query);
    query_end(&readers[DIFF_B].query);
    if (out->count)
        qsort(out->rows, out->count, sizeof *out->rows, fold ? by_weight : by_time);
    return err;
}

void diff_phases_clear(struct diff_phases *phases)
{
    for (size_t i = 0; i < phases->count; i++)
        mem_free(phases->rows[i].name);
    mem_free(phases->rows);
    mem_free(phases->steps);
    *phases = (struct diff_phases){0};
}

bool diff_phases_is_valid(const struct diff_phases *phases)
{
    for (size_t i = 0; i < phases->count; i++) {
        const struct diff_phase *row = &phases->rows[i];
        int missing = (row->peak[DIFF_A] == GROUP_NONE) + (row->peak[DIFF_B] == GROUP_NONE);
        if (missing != (row->pairs ? 0 : 1) || !is_common(phases, row->step) ||
            row->pairs + row->alone[DIFF_A] + row->alone[DIFF_B] < 1 ||
            (!phases->folded && row->pairs + row->alone[DIFF_A] + row->alone[DIFF_B] != 1))
            return false;
        if (i && (phases->folded ? by_weight : by_time)(row - 1, row) >= 0)
            return false;
    }
    return true;
}
