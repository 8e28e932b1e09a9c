/*
 * retention_decide.c - which units stay: the first ones, those of a peak or a refusal and their
 * neighbours. See retention.h.
 */
#include <assert.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "retention_types.h"
#include "search.h"

/* ---- what is kept ---- */

bool retention_meets(const struct retention_process *process, int64_t first, int64_t last)
{
    size_t at; /* the first that ends behind `first` */
    SEARCH_FIRST(at, 0, process->kept_count, process->kept[at].end <= first);
    return at < process->kept_count && process->kept[at].begin <= last;
}

static bool has_peak(const struct retention_process *process, int64_t begin, int64_t end)
{
    for (size_t i = process->peak_count; i-- > 0;)
        if (process->peaks[i].seq >= begin && process->peaks[i].seq < end)
            return true;
    return false;
}

static bool ran_out(const struct retention_process *process, int64_t begin, int64_t end)
{
    for (size_t i = process->oom_count; i-- > 0;)
        if (process->ooms[i] >= begin && process->ooms[i] < end)
            return true;
    return false;
}

/* Unit number `at` from `head`, which has one behind it. */
static struct retention_kept unit_at(const struct retention_process *process, size_t at)
{
    const struct retention_unit *unit = &process->units[process->head + at];
    return (struct retention_kept){unit->begin, unit[1].begin, unit->first_phase, unit->last_phase,
                                   false};
}

static bool is_marked(const struct retention_process *process, const struct retention_kept *unit)
{
    return has_peak(process, unit->begin, unit->end) || ran_out(process, unit->begin, unit->end);
}

static void unit_is_decided(struct retention_process *process, const struct retention_kept *unit,
                            bool marked)
{
    process->decided = unit->end;
    process->marked = marked;
    process->head++;
    while (process->oom_count && process->ooms[0] < unit->begin) /* its neighbours are decided */
        memmove(process->ooms, process->ooms + 1, --process->oom_count * sizeof *process->ooms);
}

static int put_thinned(struct retention *retention, const struct retention_process *process,
                       enum retention_what what, struct retention_thin *thin)
{
    static const char *const words[] = {[RETENTION_ROWS] = "blocks", [RETENTION_PHASES] = "phases"};
    thin->changed = false;
    if (thin->rowid)
        return retention_run(retention, RETENTION_GROW_THIN,
                             Q_IN(thin->rowid, thin->first, thin->last, thin->count));
    int err = retention_run(retention, RETENTION_NEW_THIN,
                            Q_IN(process->id, thin->first, thin->last, words[what], thin->count));
    if (err == 0)
        err = retention_first(retention, RETENTION_LAST_ROW, Q_NOTHING, Q_OUT(Q_INT(thin->rowid)));
    return err < 0 ? err : 0;
}

static int put_all_thinned(struct retention *retention, struct retention_process *process)
{
    int err = 0;
    for (int i = 0; i < RETENTION_WHATS && err == 0; i++)
        if (process->thin[i].changed)
            err = put_thinned(retention, process, (enum retention_what)i, &process->thin[i]);
    return err;
}

/* What goes behind it is another row of `thinned`. It is kept even if that cannot be written. */
static int keep(struct retention *retention, struct retention_process *process,
                const struct retention_kept *unit)
{
    if (!MEM_GROW(process->kept, process->kept_cap, process->kept_count + 1))
        return ERR_NOMEM;
    process->kept[process->kept_count++] = *unit;
    int err = put_all_thinned(retention, process);
    memset(process->thin, 0, sizeof process->thin);
    return err;
}

/* In the kept unit, or in the one before or behind it. */
static bool has_peak_near(const struct retention_process *process, size_t at)
{
    const struct retention_kept *unit = &process->kept[at];
    bool before = at && unit[-1].end == unit->begin;
    bool behind = at + 1 < process->kept_count && unit[1].begin == unit->end;
    return has_peak(process, before ? unit[-1].begin : unit->begin,
                    behind ? unit[1].end : unit->end);
}

/* Peaks that were outdone, where only the highest stays: their units go after all. */
static int drop_outdone(struct retention *retention, struct retention_process *process,
                        int64_t *rows)
{
    int err = 0;
    bool any = false;
    for (size_t i = 0; i < process->kept_count && err == 0; i++) {
        struct retention_kept unit = process->kept[i];
        if (unit.for_good || has_peak_near(process, i))
            continue;
        memmove(&process->kept[i], &process->kept[i + 1],
                (--process->kept_count - i) * sizeof *process->kept);
        i--;
        any = true;
        err = retention_drop(retention, process, &unit, rows);
    }
    return any && err == 0 ? retention_drop_spared(retention, process, rows) : err;
}

/* ---- deciding ---- */

static int decide_one(struct retention *retention, struct retention_process *process, int64_t *rows)
{
    struct retention_kept unit = unit_at(process, 0), next = unit_at(process, 1);
    bool first = process->firsts < RETENTION_FIRST, marked = is_marked(process, &unit);
    int err = 0;
    --*rows;
    unit.for_good = first || ran_out(process, unit.begin, unit.end) ||
                    ran_out(process, next.begin, next.end) || !retention_has_limit(retention);
    if (first || marked || process->marked || is_marked(process, &next)) {
        process->firsts += first;
        err = keep(retention, process, &unit);
        if (err == 0)
            err = retention_spare(retention, process, &unit, rows);
    } else {
        err = retention_drop(retention, process, &unit, rows);
    }
    unit_is_decided(process, &unit, marked);
    if (err == 0 && retention_has_limit(retention) && marked)
        err = drop_outdone(retention, process, rows);
    return err;
}

/* A unit, and the one behind it, are complete once the window has left them. Of processes that have
 * ended there may be any number: where there is a limit, the end of each is short. */
int64_t retention_units_due(const struct retention *retention,
                            const struct retention_process *process)
{
    int64_t left = (int64_t)(process->count - process->head);
    if (process->again)
        return left - process->spare - 2; /* that are behind its end */
    bool is_short = process->ended && retention_has_limit(retention);
    return left - (is_short ? RETENTION_LEAST : retention->window) - 1;
}

static int decide(struct retention *retention, struct retention_process *process, int64_t *rows)
{
    int err = 0;
    while (err == 0 && *rows > 0 && retention_units_due(retention, process) > 0)
        err = decide_one(retention, process, rows);
    return err < 0 ? err : put_all_thinned(retention, process);
}

int retention_decide_all(struct retention *retention, int64_t *rows)
{
    int err = 0;
    for (size_t i = 0; i < retention->process_count && err == 0;) {
        struct retention_process *process = &retention->processes[i];
        err = decide(retention, process, rows);
        if (err == 0 && process->ended && retention_units_due(retention, process) <= 0)
            retention_process_forget(retention, i);
        else
            i++;
    }
    return err;
}
