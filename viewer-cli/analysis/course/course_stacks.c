/*
 * Categories of a long run, without keeping its events: for each column one moment is chosen, and
 * each block is counted for the columns whose moment it saw, by where that run of columns begins
 * and ends.
 *
 * The moment is the highest one that a phase knows of in the column, else the column's end.
 */
#include "course_parts.h"

#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"
#include "span.h"

struct stacks {
    struct course_work *work;
    int64_t at[COURSE_COLUMNS_MAX];      /* what lives after the event of this number; ascending */
    int64_t highest[COURSE_COLUMNS_MAX]; /* of the phases' peaks in the column */
    int64_t change[COURSE_COLUMNS_MAX + 1][PURPOSES];
};

static const char peaks_sql[] =
    "SELECT pd.peak_seq, pd.peak_ns, pd.peak_allocated FROM phase ph"
    "  JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND pd.peak_seq BETWEEN ?3 AND ?4";

static const char next_sql[] =
    "SELECT alloc_ns FROM allocation WHERE seq >= ?3 AND heap IN"
    " (SELECT id FROM heap WHERE process = ?1 AND device = ?2) AND seq <= " SPAN_LAST
    " ORDER BY seq LIMIT 1";

static int read_peaks(struct stacks *stacks)
{
    const struct course_work *work = stacks->work;
    int64_t peak_seq, peak_ns, peak_allocated;
    struct query query = query_ask(work->db, peaks_sql,
                                   Q_IN(work->request->process, work->request->device,
                                        work->out->first_seq, work->out->last_seq),
                                   Q_OUT(Q_INT(peak_seq), Q_INT(peak_ns), Q_INT(peak_allocated)));
    while (query_next(&query)) {
        unsigned at = course_column_at(work, peak_seq, peak_ns);
        if (peak_allocated <= stacks->highest[at])
            continue;
        stacks->highest[at] = peak_allocated;
        stacks->at[at] = peak_seq;
    }
    return query_end(&query);
}

/* The number before the first block that was born at that time or later: births never run backwards
 * in time. */
static int seq_before(struct stacks *stacks, int64_t ns, int64_t *seq)
{
    const struct course_work *work = stacks->work;
    int64_t low = work->out->first_seq, high = work->out->last_seq + 1, alloc_ns;
    struct query query =
        query_ask(work->db, next_sql, Q_IN(work->request->process, work->request->device, low),
                  Q_OUT(Q_INT(alloc_ns)));
    while (low < high && query.err >= 0) {
        int64_t middle = low + (high - low) / 2;
        query_again(&query, Q_IN(work->request->process, work->request->device, middle));
        if (query_next(&query) && alloc_ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    *seq = low - 1;
    return query_end(&query);
}

static int choose_moments(struct stacks *stacks)
{
    struct course_work *work = stacks->work;
    for (unsigned i = 0; i < work->out->count; i++)
        stacks->at[i] = stacks->highest[i] = COURSE_NONE;
    int err = read_peaks(stacks);
    for (unsigned i = 0; i < work->out->count && err >= 0; i++) {
        if (stacks->at[i] == COURSE_NONE && work->request->by_events)
            stacks->at[i] = work->bound_seq[i + 1] - 1;
        else if (stacks->at[i] == COURSE_NONE)
            err = seq_before(stacks, work->bound_ns[i + 1], &stacks->at[i]);
        if (i > 0 && stacks->at[i] < stacks->at[i - 1])
            stacks->at[i] = stacks->at[i - 1];
    }
    return err < 0 ? err : 0;
}

/* The first column whose moment is not before that number. */
static unsigned first_at(const struct stacks *stacks, int64_t seq)
{
    unsigned low;
    SEARCH_FIRST(low, 0, stacks->work->out->count, stacks->at[low] < seq);
    return low;
}

static int add_block(void *self, const struct course_block *block)
{
    struct stacks *stacks = self;
    unsigned from = first_at(stacks, block->birth.seq);
    unsigned until =
        block->free_seq < 0 ? stacks->work->out->count : first_at(stacks, block->free_seq);
    if (from >= until)
        return 0;
    stacks->change[from][block->birth.purpose] += block->birth.change;
    stacks->change[until][block->birth.purpose] -= block->birth.change;
    return 0;
}

int course_read_stacks(struct course_work *work)
{
    struct stacks *stacks = mem_alloc(1, sizeof *stacks);
    int64_t sums[PURPOSES] = {0};
    if (!stacks)
        return ERR_NOMEM;
    stacks->work = work;
    int err = choose_moments(stacks);
    if (err == 0)
        err = course_each_block(work, add_block, stacks);
    for (unsigned i = 0; i < work->out->count && err == 0; i++)
        for (unsigned k = 0; k < PURPOSES; k++)
            work->out->columns[i].bytes[k] = sums[k] += stacks->change[i][k];
    mem_free(stacks);
    return err;
}
