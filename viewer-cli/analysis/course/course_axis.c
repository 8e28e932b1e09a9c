/*
 * The axis: which stretch of time, or of events, each column stands for.
 *
 * By time. Gaps, stretches in which nothing happened and no phase did any work, are found first. If
 * together they would take more than a third of the plot, each is cut to a column or two: the axis
 * is then a line of pieces, each of which has a number of columns that is its share of what is
 * left.
 *
 * By events every column has the same number of events.
 */
#include "course_parts.h"

#include <stdlib.h>

#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"
#include "span.h"

#define PAUSE_SHARE 3  /* of the plot, 1/n, from which on pauses are cut */
#define PAUSE_LEAST 24 /* 1/n of the plot: a shorter gap is no pause */
#define PAUSE_LEAST_NS 1000000
#define PAUSE_COLUMNS 2u /* that a pause keeps where there are few of them */
#define PAUSES_MAX 4096u

struct gap {
    int64_t from, until;
};

struct gaps {
    struct gap list[PAUSES_MAX];
    size_t count;
    int64_t total;
};

static unsigned column_of(const int64_t *bounds, unsigned count, int64_t at)
{
    unsigned low; /* the first column that begins behind it */
    SEARCH_FIRST(low, 0, count, bounds[low] <= at);
    return low ? low - 1 : 0;
}

unsigned course_column_of_ns(const struct course_work *work, int64_t ns)
{
    return column_of(work->bound_ns, work->out->count, ns);
}

unsigned course_column_at(const struct course_work *work, int64_t seq, int64_t ns)
{
    return work->request->by_events ? column_of(work->bound_seq, work->out->count, seq)
                                    : course_column_of_ns(work, ns);
}

/* ---- pauses ---- */

/* Keeps the stretch unless a phase that does work covers half of it. `*at`: phases before it are
 * over by then. */
static void add_gap(const struct course_work *work, struct gaps *gaps, struct gap gap, size_t *at)
{
    int64_t worked = 0, least = (work->out->until_ns - work->out->from_ns) / PAUSE_LEAST;
    if (gap.until <= gap.from || gap.until - gap.from <= least ||
        gap.until - gap.from < PAUSE_LEAST_NS || gaps->count == PAUSES_MAX)
        return;
    while (*at < work->phase_count && work->phases[*at].end_ns <= gap.from)
        ++*at;
    for (size_t i = *at; i < work->phase_count && work->phases[i].begin_ns < gap.until; i++) {
        const struct course_phase *phase = &work->phases[i];
        int64_t a = phase->begin_ns > gap.from ? phase->begin_ns : gap.from;
        int64_t b = phase->end_ns < gap.until ? phase->end_ns : gap.until;
        if (phase->kind > COURSE_USER && b > a)
            worked += b - a;
    }
    if (worked * 2 > gap.until - gap.from)
        return;
    gaps->list[gaps->count++] = gap;
    gaps->total += gap.until - gap.from;
}

struct walk { /* along the range: what is before `at` was looked at */
    struct gaps *gaps;
    int64_t at;
    size_t phase;
};

/* Something happened in [from, until). In a damaged file it may be out of order, or not in the
 * range: gaps are all the same in order, do not overlap, and lie in the range. */
static void step_over(const struct course_work *work, struct walk *walk, int64_t from,
                      int64_t until)
{
    int64_t end = from < work->out->until_ns ? from : work->out->until_ns;
    add_gap(work, walk->gaps, (struct gap){walk->at, end}, &walk->phase);
    walk->at = end > walk->at ? end : walk->at;
    walk->at = until > walk->at ? until : walk->at;
}

static void find_gaps(const struct course_work *work, struct gaps *gaps)
{
    struct walk walk = {.gaps = gaps, .at = work->out->from_ns};
    for (size_t i = 0; i < work->event_count; i++)
        step_over(work, &walk, work->events[i].ns, work->events[i].ns);
    for (size_t i = 0; i < work->bucket_count; i++)
        step_over(work, &walk, work->buckets[i].from_ns, work->buckets[i].until_ns);
    step_over(work, &walk, work->out->until_ns, work->out->until_ns);
}

/* ---- by time ---- */

/* The columns [at, at + n) stand for [from, until). */
static void lay_piece(struct course_work *work, unsigned at, unsigned n, struct gap piece,
                      bool pause)
{
    int64_t span = piece.until - piece.from;
    for (unsigned i = 0; i < n; i++) {
        work->bound_ns[at + i] = piece.from + (int64_t)((double)span * (double)i / (double)n + 0.5);
        work->out->columns[at + i].pause = pause;
    }
}

static void lay_evenly(struct course_work *work)
{
    struct course *out = work->out;
    lay_piece(work, 0, out->count, (struct gap){out->from_ns, out->until_ns}, false);
    work->bound_ns[out->count] = out->until_ns;
}

/* Each piece has a column, and more by where it begins and ends on a plot without the pauses, so
 * that no rounding adds up. */
static void lay_around(struct course_work *work, const struct gaps *gaps)
{
    struct course *out = work->out;
    unsigned each = gaps->count * 16 <= out->count ? PAUSE_COLUMNS : 1;
    unsigned pieces = (unsigned)gaps->count + 1, at = 0;
    unsigned shared = out->count - each * (unsigned)gaps->count - pieces;
    int64_t active = out->until_ns - out->from_ns - gaps->total, passed = 0, from = out->from_ns;
    for (size_t i = 0; i <= gaps->count; i++) {
        int64_t until = i < gaps->count ? gaps->list[i].from : out->until_ns;
        passed += until - from;
        unsigned end = (unsigned)((double)shared * (double)passed / (double)active + 0.5) +
                       each * (unsigned)i + (unsigned)i + 1;
        lay_piece(work, at, end - at, (struct gap){from, until}, false);
        at = end;
        if (i == gaps->count)
            break;
        lay_piece(work, at, each, gaps->list[i], true);
        at += each;
        from = gaps->list[i].until;
        out->pauses++;
        out->pause_ns += gaps->list[i].until - gaps->list[i].from;
    }
    work->bound_ns[out->count] = out->until_ns;
}

static int by_length(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;
    int64_t m = x->until - x->from, n = y->until - y->from;
    return m < n ? 1 : m > n ? -1 : x->from < y->from ? -1 : x->from > y->from;
}

static int by_time(const void *a, const void *b)
{
    const struct gap *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Only the longest are marked: a quarter of the columns at most. */
static void keep_longest(struct gaps *gaps, size_t most)
{
    if (gaps->count <= most)
        return;
    qsort(gaps->list, gaps->count, sizeof *gaps->list, by_length);
    for (size_t i = most; i < gaps->count; i++)
        gaps->total -= gaps->list[i].until - gaps->list[i].from;
    gaps->count = most;
    qsort(gaps->list, gaps->count, sizeof *gaps->list, by_time);
}

static void lay_time(struct course_work *work, struct gaps *gaps)
{
    struct course *out = work->out;
    int64_t span = out->until_ns - out->from_ns;
    keep_longest(gaps, out->count / 4);
    if (gaps->count == 0 || gaps->total >= span || gaps->total < span / PAUSE_SHARE)
        lay_evenly(work);
    else
        lay_around(work, gaps);
}

/* ---- by events ---- */

static int64_t ns_of_event(const struct course_work *work, int64_t seq)
{
    size_t low;
    SEARCH_FIRST(low, 0, work->event_count, work->events[low].seq < seq);
    return low < work->event_count ? work->events[low].ns : work->out->until_ns;
}

/* Between the beginnings of phases, which are in order of both. */
static int64_t ns_between_phases(const struct course_work *work, int64_t seq)
{
    const struct course *out = work->out;
    int64_t seq0 = out->first_seq, ns0 = out->from_ns, seq1 = out->last_seq + 1,
            ns1 = out->until_ns;
    size_t low;
    SEARCH_FIRST(low, 0, work->phase_count, work->phases[low].begin_seq <= seq);
    if (low > 0 && work->phases[low - 1].begin_seq > seq0) {
        seq0 = work->phases[low - 1].begin_seq;
        ns0 = work->phases[low - 1].begin_ns;
    }
    if (low < work->phase_count) {
        seq1 = work->phases[low].begin_seq;
        ns1 = work->phases[low].begin_ns;
    }
    if (seq1 <= seq0)
        return ns0;
    return ns0 + (int64_t)((double)(ns1 - ns0) * (double)(seq - seq0) / (double)(seq1 - seq0));
}

static const char birth_sql[] = "SELECT alloc_ns FROM allocation WHERE seq >= ?3 AND heap IN"
                                " (SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
                                " AND seq <= " SPAN_LAST " ORDER BY seq LIMIT 1";

static int ns_of_seq(struct course_work *work, int64_t seq, int64_t *ns)
{
    int64_t alloc_ns = work->out->until_ns;
    int err = 0;
    if (work->phase_count >= work->out->count)
        alloc_ns = ns_between_phases(work, seq);
    else
        err = query_read(work->db, birth_sql,
                         Q_IN(work->request->process, work->request->device, seq),
                         Q_OUT(Q_INT(alloc_ns)));
    *ns = alloc_ns;
    return err;
}

static int place_bound(struct course_work *work, unsigned i)
{
    struct course *out = work->out;
    int64_t seqs = out->last_seq - out->first_seq + 1, ns = out->until_ns;
    int64_t seq = out->first_seq + (int64_t)((double)seqs * (double)i / (double)out->count);
    int err = 0;
    if (i == 0)
        ns = out->from_ns;
    else if (i < out->count && out->exact)
        ns = ns_of_event(work, seq);
    else if (i < out->count)
        err = ns_of_seq(work, seq, &ns);
    if (i > 0 && ns < work->bound_ns[i - 1])
        ns = work->bound_ns[i - 1];
    work->bound_ns[i] = ns > out->until_ns ? out->until_ns : ns;
    work->bound_seq[i] = seq;
    return err;
}

static int lay_events_axis(struct course_work *work)
{
    int err = 0;
    for (unsigned i = 0; i <= work->out->count && err == 0; i++)
        err = place_bound(work, i);
    return err;
}

int course_lay_axis(struct course_work *work)
{
    if (work->request->by_events)
        return lay_events_axis(work);
    struct gaps *gaps = mem_alloc(1, sizeof *gaps);
    if (!gaps)
        return ERR_NOMEM;
    find_gaps(work, gaps);
    lay_time(work, gaps);
    mem_free(gaps);
    return 0;
}
