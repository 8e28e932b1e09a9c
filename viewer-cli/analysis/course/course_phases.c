/*
 * A column counts as what most of it is. A phase that has the most of no column would not be seen:
 * the longest of those in a column takes it from a phase that a neighbour shows.
 *
 * Time is counted for the innermost phase: what a phase covers is taken off the one around it.
 */
#include "course_parts.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "phase_kind.h"
#include "query.h"
#include "thinned.h"

enum course_kind course_kind_of(const char *kind)
{
    static const enum course_kind kinds[PHASE_KINDS] = {
        [PHASE_KIND_OTHER] = COURSE_OTHER,
        [PHASE_KIND_USER] = COURSE_USER,
        [PHASE_KIND_ZERO_GRAD] = COURSE_ZERO_GRAD,
        [PHASE_KIND_FORWARD] = COURSE_FORWARD,
        [PHASE_KIND_LOSS] = COURSE_LOSS,
        [PHASE_KIND_BACKWARD] = COURSE_BACKWARD,
        [PHASE_KIND_AFTER_BACKWARD] = COURSE_AFTER_BACKWARD,
        [PHASE_KIND_OPTIMIZER] = COURSE_OPTIMIZER,
        [PHASE_KIND_EVAL] = COURSE_EVAL,
        [PHASE_KIND_FORWARD_NO_GRAD] = COURSE_FORWARD_NO_GRAD,
        [PHASE_KIND_RECOMPUTE] = COURSE_RECOMPUTE,
        [PHASE_KIND_UNKNOWN] = COURSE_OTHER,
    };
    return kinds[phase_kind_from(kind)];
}

/* ---- reading ---- */

/* Phases as they are read, in the order of their numbers, which is nearly that of their begins. */
struct row {
    int64_t id, parent; /* COURSE_NONE */
    const char *kind;   /* while it is read */
    struct course_phase phase;
};

struct rows {
    struct row *rows;
    size_t count, cap;
    bool mixed; /* one came so late that all are to be sorted */
};

#define LATE_MOST 64 /* rows that one comes after those that begin later */

static int by_begin(const void *one, const void *other)
{
    const struct row *a = one, *b = other;
    if (a->phase.begin_seq != b->phase.begin_seq)
        return a->phase.begin_seq < b->phase.begin_seq ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int take_row(const struct course *out, struct rows *rows, const struct row *row)
{
    if (!MEM_GROW(rows->rows, rows->cap, rows->count + 1))
        return ERR_NOMEM;
    struct row taken = *row;
    taken.phase.kind = (uint8_t)course_kind_of(row->kind);
    if (taken.phase.end_ns == QUERY_NONE) {
        taken.phase.end_seq = out->last_seq;
        taken.phase.end_ns = out->until_ns;
    }
    size_t at = rows->count++, from = at > LATE_MOST ? at - LATE_MOST : 0;
    for (; at > from && by_begin(&rows->rows[at - 1], &taken) > 0; at--)
        rows->rows[at] = rows->rows[at - 1];
    rows->rows[at] = taken;
    rows->mixed = rows->mixed || (at > 0 && by_begin(&rows->rows[at - 1], &taken) > 0);
    return 0;
}

/* Phases by id, while they are gone through: kinds, and the last ones whose ends are not reached.
 */
struct nest {
    struct {
        int64_t id;
        enum course_kind kind;
    } open[64];
    unsigned count;
};

/* What the phase around this one counts as. Rows come in the order in which phases begin, so that
 * it is still on the stack; one that is nested deeper than that counts as nothing. */
static enum course_kind kind_around(struct nest *nest, const struct row *row)
{
    if (row->parent == COURSE_NONE) {
        nest->count = 0;
        return COURSE_NOTHING;
    }
    for (unsigned i = nest->count; i > 0; i--) {
        if (nest->open[i - 1].id != row->parent)
            continue;
        nest->count = i;
        return nest->open[i - 1].kind;
    }
    return COURSE_NOTHING;
}

static void add_phase(struct course_work *work, struct nest *nest, const struct row *row)
{
    struct course_phase *phase = &work->phases[work->phase_count++];
    enum course_kind around = kind_around(nest, row);
    enum course_kind kind = (enum course_kind)row->phase.kind;
    if (kind == COURSE_USER && around > COURSE_USER)
        kind = around;
    if (nest->count < sizeof nest->open / sizeof *nest->open) {
        nest->open[nest->count].id = row->id;
        nest->open[nest->count++].kind = kind;
    }
    *phase = row->phase;
    phase->kind = (uint8_t)kind;
    phase->under = (uint8_t)around;
}

static const char phases_sql[] =
    "SELECT id, parent, kind, step, begin_seq, end_seq, begin_ns, end_ns FROM phase"
    " WHERE process = ?1 AND scope <> 'thread' AND begin_ns < ?3"
    "   AND (end_ns IS NULL OR end_ns >= ?2) ORDER BY id";

static int read_rows(struct course_work *work, struct rows *rows)
{
    struct row row = {0};
    struct query query = query_ask(
        work->db, phases_sql, Q_IN(work->request->process, work->out->from_ns, work->out->until_ns),
        Q_OUT(Q_INT(row.id), Q_OPT(row.parent), Q_TEXT(row.kind), Q_OPT(row.phase.step),
              Q_INT(row.phase.begin_seq), Q_INT(row.phase.end_seq), Q_INT(row.phase.begin_ns),
              Q_OPT(row.phase.end_ns)));
    while (query_next(&query))
        query_fail(&query, take_row(work->out, rows, &row));
    return query_end(&query);
}

/* SQLite would sort all of a long run at each look, and they are nearly sorted. */
int course_read_phases(struct course_work *work)
{
    struct nest nest = {0};
    struct rows rows = {0};
    int err = read_rows(work, &rows);
    if (err == 0 && rows.mixed)
        qsort(rows.rows, rows.count, sizeof *rows.rows, by_begin);
    if (err == 0 && rows.count &&
        !MEM_GROW(work->phases, work->phase_cap, work->phase_count + rows.count))
        err = ERR_NOMEM;
    for (size_t i = 0; err == 0 && i < rows.count; i++)
        add_phase(work, &nest, &rows.rows[i]);
    mem_free(rows.rows);
    return err;
}

/* ---- laying ---- */

struct lay { /* of the columns */
    int64_t covered[COURSE_COLUMNS_MAX][COURSE_KINDS];
    uint32_t begins[COURSE_COLUMNS_MAX];        /* a bit for each kind of the phases that begin */
    int64_t most[COURSE_COLUMNS_MAX];           /* of a phase that no column shows */
    enum course_kind small[COURSE_COLUMNS_MAX]; /* what that one is */
};

static int64_t begin_of(const struct course_work *work, unsigned column)
{
    return work->request->by_events ? work->bound_seq[column] : work->bound_ns[column];
}

/* Adds what the phase covers, column by column. */
static void cover(struct course_work *work, struct lay *lay, const struct course_phase *phase)
{
    bool events = work->request->by_events;
    int64_t from = events ? phase->begin_seq : phase->begin_ns;
    int64_t until = events ? phase->end_seq + 1 : phase->end_ns;
    unsigned first = course_column_at(work, phase->begin_seq, phase->begin_ns);
    for (unsigned i = first; i < work->out->count && begin_of(work, i) < until; i++) {
        int64_t a = from > begin_of(work, i) ? from : begin_of(work, i);
        int64_t b = until < begin_of(work, i + 1) ? until : begin_of(work, i + 1);
        if (b <= a)
            continue;
        lay->covered[i][phase->kind] += b - a;
        lay->covered[i][phase->under] -= b - a;
    }
}

static void begin(struct course_work *work, struct lay *lay, const struct course_phase *phase,
                  int64_t *step)
{
    struct course *out = work->out;
    if (phase->begin_ns < out->from_ns || phase->begin_ns >= out->until_ns)
        return;
    unsigned at = course_column_at(work, phase->begin_seq, phase->begin_ns);
    if (phase->kind != phase->under)
        lay->begins[at] |= 1u << phase->kind;
    if (phase->step == COURSE_NONE || phase->step == *step)
        return;
    *step = phase->step;
    out->steps++;
    if (out->columns[at].step == COURSE_NONE)
        out->columns[at].step = phase->step;
}

static void decide(struct course_work *work, const struct lay *lay)
{
    struct course *out = work->out;
    for (unsigned i = 0; i < out->count; i++) {
        int64_t whole = begin_of(work, i + 1) - begin_of(work, i), best = 0;
        for (unsigned kind = COURSE_OTHER; kind < COURSE_KINDS; kind++)
            if (lay->covered[i][kind] > best) {
                best = lay->covered[i][kind];
                out->columns[i].kind = (enum course_kind)kind;
            }
        out->columns[i].mixed = whole > 0 && best < whole / 2 && best > 0;
    }
}

/* A phase that has the most of no column: it may have the one of which it has the longest part. */
static void find_unseen(struct course_work *work, struct lay *lay, const struct course_phase *phase)
{
    bool events = work->request->by_events;
    int64_t from = events ? phase->begin_seq : phase->begin_ns, best = 0;
    int64_t until = events ? phase->end_seq + 1 : phase->end_ns;
    unsigned first = course_column_at(work, phase->begin_seq, phase->begin_ns), at = first;
    if (phase->kind <= COURSE_USER || phase->kind == phase->under)
        return;
    for (unsigned i = first; i < work->out->count && begin_of(work, i) < until; i++) {
        int64_t a = from > begin_of(work, i) ? from : begin_of(work, i);
        int64_t b = until < begin_of(work, i + 1) ? until : begin_of(work, i + 1);
        if ((uint8_t)work->out->columns[i].kind == phase->kind)
            return;
        if (b - a > best) {
            best = b - a;
            at = i;
        }
    }
    /* The peak's column keeps the phase that it is in; the one before it is near enough. */
    if (at == work->out->peak_at && at > 0)
        at--;
    if (best > lay->most[at]) {
        lay->most[at] = best;
        lay->small[at] = (enum course_kind)phase->kind;
    }
}

/* Only from a phase that a neighbour shows, too, or from the time between phases. */
static void show_unseen(struct course *out, const struct lay *lay)
{
    for (unsigned i = 0; i < out->count; i++) {
        enum course_kind kind = out->columns[i].kind;
        bool shown = (i > 0 && out->columns[i - 1].kind == kind) ||
                     (i + 1 < out->count && out->columns[i + 1].kind == kind) ||
                     kind <= COURSE_OTHER;
        if (lay->most[i] > 0 && shown) {
            out->columns[i].kind = lay->small[i];
            out->columns[i].mixed = false;
        }
        out->columns[i].parted = lay->begins[i] >> out->columns[i].kind & 1;
    }
}

/* The peak's column is what the peak is in: that is what it is looked at for. */
static void show_peak(struct course_work *work)
{
    struct course_column *column = &work->out->columns[work->out->peak_at];
    int64_t seq = work->out->peak_seq;
    for (size_t i = 0; i < work->phase_count && seq != COURSE_NONE; i++) {
        if (work->phases[i].begin_seq > seq || work->phases[i].end_seq < seq)
            continue;
        column->kind = (enum course_kind)work->phases[i].kind; /* those inside come later */
        column->mixed = false;
    }
}

/* With a step for each few columns the phases are noise. */
static void give_up(struct course *out)
{
    for (unsigned i = 0; i < out->count; i++)
        out->columns[i].mixed = out->columns[i].kind > COURSE_OTHER;
}

static bool has_steps(const struct course_request *request)
{
    return request->first_step != INT64_MIN || request->last_step != INT64_MAX;
}

static const char count_sql[] =
    "SELECT coalesce(max(min(step), ?2), ?2) AS first, coalesce(min(max(step), ?3), ?3) AS last,"
    "       count(DISTINCT iif(step BETWEEN ?2 AND ?3 AND" THINNED_REST(
        "ph") ", step, NULL)) AS rest"
              "  FROM phase ph WHERE process = ?1";

/* Of the steps from `first` to `last`: how many there were, and of how many some phases are left.
 */
static int count_steps(struct course_work *work, int64_t first, int64_t last)
{
    struct course *out = work->out;
    int64_t rest = 0;
    int err = query_read(work->db, count_sql, Q_IN(work->request->process, first, last),
                         Q_OUT(Q_ANY(first), Q_ANY(last), Q_INT(rest)));
    uint64_t all = last >= first ? (uint64_t)last - (uint64_t)first + 1 : 0;
    out->all_steps = all > out->steps ? all : out->steps;
    out->full_steps = out->steps - ((uint64_t)rest < out->steps ? (uint64_t)rest : out->steps);
    return err;
}

/* What was thinned of what is asked for, which may reach beyond what is left of that. */
static int read_thinned(const struct course_work *work, struct thinned *thinned)
{
    const struct course_request *request = work->request;
    int64_t first = work->out->first_seq, last = work->out->last_seq;
    int err = 0;
    if (has_steps(request))
        err = thinned_span_of_steps(work->db, request->process, request->first_step,
                                    request->last_step, &first, &last);
    return err < 0 ? err : thinned_read(work->db, "phases", request->process, first, last, thinned);
}

/* `record --max-size` leaves no phases of the steps that it takes out. What lies between two kept
 * steps and has none, not even one between phases, is such a stretch. */
static int mark_thinned(struct course_work *work)
{
    struct course *out = work->out;
    struct thinned thinned;
    int64_t first = INT64_MAX, last = INT64_MIN;
    unsigned from = out->count, until = 0;
    int err = read_thinned(work, &thinned);
    out->all_steps = out->full_steps = out->steps;
    if (err < 0 || !thinned.count || out->steps == 0)
        return err;
    for (size_t i = 0; i < work->phase_count; i++) {
        int64_t step = work->phases[i].step;
        if (step == COURSE_NONE)
            continue;
        first = step < first ? step : first;
        last = step > last ? step : last;
    }
    for (unsigned i = 0; i < out->count; i++) {
        if (out->columns[i].step == COURSE_NONE)
            continue;
        from = i < from ? i : from;
        until = i;
    }
    for (unsigned i = from; i < until; i++)
        out->columns[i].thinned = out->columns[i].kind == COURSE_NOTHING && !out->columns[i].pause;
    out->last_step = last;
    err = has_steps(work->request)
              ? count_steps(work, work->request->first_step, work->request->last_step)
              : count_steps(work, first, last);
    out->thinned = out->all_steps > out->full_steps;
    return err;
}

int course_lay_phases(struct course_work *work)
{
    struct lay *lay = mem_alloc(1, sizeof *lay);
    int64_t step = COURSE_NONE;
    if (!lay)
        return ERR_NOMEM;
    for (size_t i = 0; i < work->phase_count; i++) {
        cover(work, lay, &work->phases[i]);
        begin(work, lay, &work->phases[i], &step);
    }
    decide(work, lay);
    show_peak(work);
    if (work->out->steps > work->out->count / 4) {
        give_up(work->out);
    } else {
        for (size_t i = 0; i < work->phase_count; i++)
            find_unseen(work, lay, &work->phases[i]);
        show_unseen(work->out, lay);
    }
    mem_free(lay);
    return mark_thinned(work);
}
