/*
 * Blocks that go, and what they are summed up into.
 *
 * A block is decided with the unit in which it died: so a row of a unit that goes is dropped at
 * once if it died in it, and else when its turn comes (drop_late).
 */
#include <assert.h>

#include "error.h"
#include "mem.h"
#include "retention_types.h"

/* ---- sums ---- */

static struct retention_sum *sum_of(struct retention *retention, int64_t heap, int64_t site)
{
    uint64_t key = (uint64_t)heap << 32 | (uint64_t)(site + 1);
    uint64_t place = map_get(&retention->sum_of, key);
    assert(heap > 0 && (site > 0 || site == BATCH_NOT_KNOWN));
    if (place != MAP_NONE)
        return &retention->sums[place];
    if (!MEM_GROW(retention->sums, retention->sum_cap, retention->sum_count + 1) ||
        !map_put(&retention->sum_of, key, retention->sum_count, NULL))
        return NULL;
    struct retention_sum *sum = &retention->sums[retention->sum_count++];
    *sum = (struct retention_sum){.heap = heap, .site = site, .first_seq = INT64_MAX};
    return sum;
}

/* Of so many rows of other processes, which are only passed over, one counts as work. */
#define OTHERS 4

struct row { /* of RETENTION_ROW and RETENTION_ROWS_OF */
    int64_t heap, site, size, free_seq, seq;
};
#define ROW(row)                                                                                   \
    Q_OUT(Q_INT((row).heap), Q_OPT((row).site), Q_INT((row).size), Q_INT((row).free_seq),          \
          Q_INT((row).seq))

static bool add_to_sum(struct retention *retention, const struct row *row)
{
    struct retention_sum *sum =
        sum_of(retention, row->heap, row->site == QUERY_NONE ? BATCH_NOT_KNOWN : row->site);
    if (!sum)
        return false;
    sum->blocks++;
    sum->bytes += row->size;
    sum->largest = row->size > sum->largest ? row->size : sum->largest;
    sum->first_seq = row->seq < sum->first_seq ? row->seq : sum->first_seq;
    sum->last_seq = row->seq > sum->last_seq ? row->seq : sum->last_seq;
    return true;
}

int retention_put_sums(struct retention *retention)
{
    int err = 0;
    for (size_t i = 0; i < retention->sum_count && err == 0; i++) {
        const struct retention_sum *sum = &retention->sums[i];
        /* 0 is no site's number: -1 = not known, as a key */
        err = retention_run(retention, RETENTION_SUM_SITE,
                            Q_IN(sum->heap, sum->site, sum->blocks, sum->bytes, sum->largest,
                                 sum->first_seq, sum->last_seq));
    }
    retention_drop_sums(retention);
    return err;
}

/* A round may have as many as there are call sites, and another one few. */
void retention_drop_sums(struct retention *retention)
{
    mem_free(retention->sums);
    retention->sums = NULL;
    retention->sum_count = retention->sum_cap = 0;
    map_clear(&retention->sum_of);
}

void retention_count(struct retention_process *process, enum retention_what what, int64_t first,
                     int64_t last, int64_t count)
{
    struct retention_thin *thin = &process->thin[what];
    if (!count)
        return;
    thin->first = thin->count && thin->first < first ? thin->first : first;
    thin->last = thin->count && thin->last > last ? thin->last : last;
    thin->count += count;
    thin->changed = true;
}

/* ---- rows ---- */

/* Rows first..last, all of which go, and what hangs on them. */
static int drop_range(struct retention *retention, int64_t first, int64_t last)
{
    static const enum retention_statement all[] = {RETENTION_DROP_ROWS, RETENTION_DROP_IDLE,
                                                   RETENTION_DROP_THEIR_PHASE};
    int err = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && err == 0; i++)
        err = retention_run(retention, all[i], Q_IN(first, last));
    return err;
}

struct run { /* of rows of a stretch, in order of seq: those that go, one behind the other */
    int64_t first, last;
};

/* Ranges are deleted behind the reading cursor only: in a list until the scan is over. */
struct scan {
    bool all_stay;
    struct run *runs;
    size_t count, cap;
    bool open; /* the last run goes on with the next row that goes */
    struct retention_blocks births;
    int64_t dropped;
};

static bool goes(struct scan *scan, int64_t seq)
{
    if (scan->open) {
        scan->runs[scan->count - 1].last = seq;
    } else {
        if (!MEM_GROW(scan->runs, scan->cap, scan->count + 1))
            return false;
        scan->runs[scan->count++] = (struct run){seq, seq};
        scan->open = true;
    }
    scan->dropped++;
    return true;
}

static bool stays(struct scan *scan, int64_t seq, int64_t free_seq)
{
    struct retention_blocks *births = &scan->births;
    scan->open = false;
    if (!MEM_GROW(births->at, births->cap, births->count + 1))
        return false;
    births->at[births->count++] = (struct retention_block){free_seq, seq};
    return true;
}

static bool is_of(const struct retention *retention, const struct retention_process *process,
                  int64_t heap)
{
    return map_get(&retention->heaps, (uint64_t)heap) == (uint64_t)process->id;
}

static bool one_row(struct retention *retention, struct retention_process *process,
                    const struct retention_kept *stretch, const struct row *row, bool own,
                    struct scan *scan)
{
    if (!own) {
        scan->open = false;
        return true;
    }
    if (row->free_seq >= 0 && row->free_seq < stretch->end)
        return scan->all_stay || (add_to_sum(retention, row) && goes(scan, row->seq));
    if (!scan->all_stay && !stays(scan, row->seq, row->free_seq))
        return false;
    return row->free_seq < 0 || retention_late_push(process, row->seq, row->free_seq);
}

static int scan_rows(struct retention *retention, struct retention_process *process,
                     const struct retention_kept *stretch, struct scan *scan, int64_t *rows)
{
    struct row row;
    struct query query = retention_query(retention, RETENTION_ROWS_OF,
                                         Q_IN(stretch->begin, stretch->end - 1), ROW(row));
    for (int64_t seen = 0; query_next(&query); seen++) {
        bool own = is_of(retention, process, row.heap);
        *rows -= own || seen % OTHERS == 0;
        if (!one_row(retention, process, stretch, &row, own, scan))
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

/* ---- one by one ---- */

/* Whoever looked at it before may have dropped it already. */
static int drop_one(struct retention *retention, struct retention_process *process, int64_t seq)
{
    struct row row;
    int err = retention_first(retention, RETENTION_ROW, Q_IN(seq), ROW(row));
    if (err != DB_ROW)
        return err;
    if (!add_to_sum(retention, &row))
        return ERR_NOMEM;
    err = drop_range(retention, seq, seq);
    if (err == 0)
        retention_count(process, RETENTION_ROWS, seq, seq, 1);
    if (err == 0 && retention_has_limit(retention))
        err = retention_drop_phases_left(retention, process, seq);
    return err;
}

/* Blocks that outlived their units and died before `end`. `deaths` gets those that stay. */
static int drop_late(struct retention *retention, struct retention_process *process, int64_t end,
                     struct retention_blocks *deaths, int64_t *rows)
{
    struct retention_block block;
    int err = 0;
    while (err == 0 && retention_late_pop(process, end, &block)) {
        --*rows;
        if (!retention_meets(process, block.seq, block.free_seq)) {
            err = drop_one(retention, process, block.seq);
            continue;
        }
        struct retention_blocks *spared = &process->spared;
        if (!MEM_GROW(spared->at, spared->cap, spared->count + 1) ||
            (deaths && !MEM_GROW(deaths->at, deaths->cap, deaths->count + 1)))
            return ERR_NOMEM;
        spared->at[spared->count++] = block;
        if (deaths)
            deaths->at[deaths->count++] = block;
    }
    return err;
}

/* ---- a stretch ---- */

static int drop_between(struct retention *retention, enum retention_statement which,
                        const struct retention_kept *stretch, int64_t process)
{
    return retention_run(retention, which, Q_IN(stretch->begin, stretch->end - 1, process));
}

/* What was told of the device in that time. Few rows of a training; many where kernels are
 * recorded, or memory is taken from pools for each step. Samples stand in no way but that of a
 * limit. */
static int drop_told(struct retention *retention, const struct retention_process *process,
                     const struct retention_kept *stretch)
{
    int err = drop_between(retention, RETENTION_DROP_ACTIVITIES, stretch, process->id);
    if (err == 0)
        err = drop_between(retention, RETENTION_DROP_DRIVER, stretch, process->id);
    if (err == 0 && retention_has_limit(retention))
        err = drop_between(retention, RETENTION_DROP_SAMPLES, stretch, process->id);
    return err;
}

int retention_drop(struct retention *retention, struct retention_process *process,
                   const struct retention_kept *stretch, int64_t *rows)
{
    struct scan scan = {0};
    struct retention_blocks deaths = {0};
    int err = drop_late(retention, process, stretch->end, &deaths, rows);
    if (err == 0)
        err = scan_rows(retention, process, stretch, &scan, rows);
    for (size_t i = 0; i < scan.count && err == 0; i++)
        err = drop_range(retention, scan.runs[i].first, scan.runs[i].last);
    if (err == 0)
        err =
            retention_run(retention, RETENTION_DROP_FRAMES, Q_IN(stretch->begin, stretch->end - 1));
    if (err == 0)
        err = drop_told(retention, process, stretch);
    if (err == 0 && retention_has_limit(retention))
        err = drop_between(retention, RETENTION_DROP_MARKS, stretch, process->id);
    if (err == 0 && retention_has_limit(retention))
        err = retention_drop_phases(retention, process, stretch, &scan.births, &deaths);
    if (err == 0)
        retention_count(process, RETENTION_ROWS, stretch->begin, stretch->end - 1, scan.dropped);
    mem_free(scan.runs);
    mem_free(scan.births.at);
    mem_free(deaths.at);
    return err;
}

int retention_spare(struct retention *retention, struct retention_process *process,
                    const struct retention_kept *stretch, int64_t *rows)
{
    struct scan scan = {.all_stay = true};
    int err = drop_late(retention, process, stretch->end, NULL, rows);
    return err < 0 ? err : scan_rows(retention, process, stretch, &scan, rows);
}

int retention_drop_spared(struct retention *retention, struct retention_process *process,
                          int64_t *rows)
{
    struct retention_blocks *spared = &process->spared;
    size_t left = 0;
    int err = 0;
    for (size_t i = 0; i < spared->count; i++) {
        struct retention_block block = spared->at[i];
        --*rows;
        if (err == 0 && !retention_meets(process, block.seq, block.free_seq))
            err = drop_one(retention, process, block.seq);
        else
            spared->at[left++] = block;
    }
    spared->count = left;
    return err;
}
