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

static int ask(struct course_work *work, struct db_stmt **stmt, const char *sql)
{
    int err = db_prepare(work->db, stmt, sql);
    if (err < 0)
        return err;
    db_bind_int(*stmt, 0, work->request->process);
    db_bind_int(*stmt, 1, work->request->device);
    return 0;
}

static int read_peaks(struct stacks *stacks)
{
    struct course_work *work = stacks->work;
    struct db_stmt *row = NULL;
    int err = ask(work, &row, peaks_sql);
    if (err < 0)
        return err;
    db_bind_int(row, 2, work->out->first_seq);
    db_bind_int(row, 3, work->out->last_seq);
    while ((err = db_step(row)) == DB_ROW) {
        unsigned at = course_column_at(work, db_column_int(row, 0), db_column_int(row, 1));
        if (db_column_int(row, 2) <= stacks->highest[at])
            continue;
        stacks->highest[at] = db_column_int(row, 2);
        stacks->at[at] = db_column_int(row, 0);
    }
    db_finalize(row);
    return err < 0 ? err : 0;
}

/* The number before the first block that was born at that time or later: births never run backwards
 * in time. */
static int seq_before(struct stacks *stacks, struct db_stmt *row, int64_t ns, int64_t *seq)
{
    int64_t low = stacks->work->out->first_seq, high = stacks->work->out->last_seq + 1;
    int err = 0;
    while (low < high && err >= 0) {
        int64_t middle = low + (high - low) / 2;
        db_bind_int(row, 2, middle);
        err = db_step(row);
        bool earlier = err == DB_ROW && db_column_int(row, 0) < ns;
        db_reset(row);
        if (earlier)
            low = middle + 1;
        else
            high = middle;
    }
    *seq = low - 1;
    return err < 0 ? err : 0;
}

static int choose_moments(struct stacks *stacks)
{
    struct course_work *work = stacks->work;
    struct db_stmt *row = NULL;
    for (unsigned i = 0; i < work->out->count; i++)
        stacks->at[i] = stacks->highest[i] = COURSE_NONE;
    int err = read_peaks(stacks);
    if (err == 0)
        err = ask(work, &row, next_sql);
    for (unsigned i = 0; i < work->out->count && err >= 0; i++) {
        if (stacks->at[i] == COURSE_NONE && work->request->by_events)
            stacks->at[i] = work->bound_seq[i + 1] - 1;
        else if (stacks->at[i] == COURSE_NONE)
            err = seq_before(stacks, row, work->bound_ns[i + 1], &stacks->at[i]);
        if (i > 0 && stacks->at[i] < stacks->at[i - 1])
            stacks->at[i] = stacks->at[i - 1];
    }
    db_finalize(row);
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
