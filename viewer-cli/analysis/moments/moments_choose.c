/*
 * Which moments: the highest points and the ends of phases, refused requests, and as many numbers
 * spread evenly over the events. Where phases are too many, each stretch of events keeps the
 * highest point of its highest phase and the lowest end.
 */
#include <stdlib.h>

#include "error.h"
#include "mem.h"
#include "moments_parts.h"
#include "query.h"
#include "span.h"

struct choice {
    int64_t seq, ns, bytes;
    bool high, kept;
};

struct choices {
    struct choice *list;
    size_t count, cap;
    int64_t first, last; /* numbers of the process's births and frees */
};

static int add(struct choices *choices, struct choice choice)
{
    if (!MEM_GROW(choices->list, choices->cap, choices->count + 1))
        return ERR_NOMEM;
    choices->list[choices->count++] = choice;
    return 0;
}

/* A phase that only went down had its highest value before its first event (peak.c). */
static const char phases_sql[] =
    "SELECT coalesce(pd.peak_seq, ph.begin_seq - 1) AS peak_seq, pd.peak_ns, pd.peak_allocated,"
    "       ph.end_seq, ph.end_ns, pd.allocated FROM phase ph"
    "  JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2";

static int read_phases(struct moments_work *work, struct choices *choices)
{
    int64_t peak_seq, peak_ns, peak_allocated, end_seq, end_ns, allocated;
    int64_t highest = INT64_MIN;
    size_t highest_at = 0;
    struct query query = query_ask(work->db, phases_sql, Q_IN(work->process, work->device),
                                   Q_OUT(Q_OPT(peak_seq), Q_OPT(peak_ns), Q_INT(peak_allocated),
                                         Q_OPT(end_seq), Q_OPT(end_ns), Q_INT(allocated)));
    while (query_next(&query)) {
        if (peak_seq != QUERY_NONE) {
            if (peak_allocated > highest) {
                highest = peak_allocated;
                highest_at = choices->count;
            }
            query_fail(&query, add(choices, (struct choice){peak_seq, peak_ns, peak_allocated, true,
                                                            false}));
        }
        if (end_seq != QUERY_NONE)
            query_fail(&query,
                       add(choices, (struct choice){end_seq, end_ns, allocated, false, false}));
    }
    int err = query_end(&query);
    if (err == 0 && highest_at < choices->count)
        choices->list[highest_at].kept = true;
    return err;
}

static int read_refusals(struct moments_work *work, struct choices *choices)
{
    int64_t seq, at_ns;
    int count = 0;
    struct query query = query_ask(
        work->db,
        "SELECT seq, at_ns FROM oom WHERE process = ?1 AND device = ?2 ORDER BY seq DESC LIMIT 64",
        Q_IN(work->process, work->device), Q_OUT(Q_INT(seq), Q_INT(at_ns)));
    for (; query_next(&query); count++)
        query_fail(&query, add(choices, (struct choice){seq, at_ns, 0, true, true}));
    return query_end(&query);
}

static int by_seq(const void *a, const void *b)
{
    const struct choice *x = a, *y = b;
    return x->seq != y->seq ? (x->seq > y->seq) - (x->seq < y->seq) : (int)y->kept - (int)x->kept;
}

/* Of each of `bins` stretches of numbers: its highest high one and its lowest low one. */
static void thin(struct choices *choices, size_t bins)
{
    int64_t width = (choices->last - choices->first) / (int64_t)bins + 1;
    size_t count = 0;
    for (size_t i = 0; i < choices->count;) {
        int64_t bin = (choices->list[i].seq - choices->first) / width;
        size_t high = SIZE_MAX, low = SIZE_MAX, at = i;
        for (; at < choices->count && (choices->list[at].seq - choices->first) / width == bin;
             at++) {
            const struct choice *choice = &choices->list[at];
            if (choice->high && (high == SIZE_MAX || choice->bytes > choices->list[high].bytes))
                high = at;
            if (!choice->high && (low == SIZE_MAX || choice->bytes < choices->list[low].bytes))
                low = at;
        }
        for (; i < at; i++)
            if (choices->list[i].kept || i == high || i == low)
                choices->list[count++] = choices->list[i];
    }
    choices->count = count;
}

static void sort(struct choices *choices)
{
    if (choices->count)
        qsort(choices->list, choices->count, sizeof *choices->list, by_seq);
}

/* Evenly, each with the time of the last birth before it. */
static int spread(struct moments_work *work, struct choices *choices, size_t most)
{
    int64_t width = (choices->last - choices->first) / (int64_t)(most ? most : 1) + 1;
    int64_t seq = choices->first, alloc_ns = 0;
    int err = 0;
    struct query query = query_ask(work->db,
                                   "SELECT alloc_ns FROM allocation WHERE seq <= ?1"
                                   " ORDER BY seq DESC LIMIT 1",
                                   Q_IN(seq), Q_OUT(Q_INT(alloc_ns)));
    for (bool last = false; !last && err == 0; seq += width) {
        last = seq >= choices->last;
        seq = last ? choices->last : seq;
        query_again(&query, Q_IN(seq));
        err = query_next(&query) || query.err >= 0 ? 0 : query.err;
        if (err == 0)
            err = add(choices, (struct choice){seq, alloc_ns, 0, false, last});
    }
    int end = query_end(&query);
    return err ? err : end;
}

static int take(struct moments *out, const struct choices *choices)
{
    for (size_t i = 0; i < choices->count; i++) {
        const struct choice *choice = &choices->list[i];
        if (out->count && out->moments[out->count - 1].seq == choice->seq) {
            out->moments[out->count - 1].kept |= choice->kept;
            continue;
        }
        if (!MEM_GROW(out->moments, out->cap, out->count + 1))
            return ERR_NOMEM;
        out->moments[out->count++] =
            (struct moment){.seq = choice->seq, .ns = choice->ns, .kept = choice->kept};
    }
    return 0;
}

/* An unfinished process may have blocks behind its last known event. */
static int read_range(struct moments_work *work, struct choices *choices)
{
    int64_t first = 0, last = 0;
    int err = query_read(work->db,
                         "SELECT coalesce(first_seq, 0) AS first, max(coalesce(last_seq, 0),"
                         " CASE WHEN end_ns IS NULL THEN coalesce((SELECT max(seq) FROM allocation"
                         " ), 0) ELSE 0 END) AS last FROM process WHERE id = ?1",
                         Q_IN(work->process), Q_OUT(Q_INT(first), Q_INT(last)));
    choices->first = first;
    choices->last = last;
    return err;
}

int moments_choose(struct moments_work *work)
{
    struct choices choices = {0};
    size_t most = work->out->limits.moments / 2;
    int err = read_range(work, &choices);
    if (err == 0)
        err = read_phases(work, &choices);
    if (err == 0)
        err = read_refusals(work, &choices);
    sort(&choices);
    if (err == 0 && choices.count > most)
        thin(&choices, most / 2 + 1);
    if (err == 0)
        err = spread(work, &choices, most);
    sort(&choices);
    if (err == 0)
        err = take(work->out, &choices);
    mem_free(choices.list);
    return err;
}
