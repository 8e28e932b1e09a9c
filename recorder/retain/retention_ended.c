/*
 * Processes that ended. Nothing is remembered of them, for of processes that come and go there may
 * be any number: when room gets short they are read again, those that ended first first. In a first
 * turn each keeps what a living one keeps, and RETENTION_LEAST units at its end, if that was not
 * decided while it was remembered; in a second one, when all had that and it is still too much, it
 * gives up all its units but those of its highest peaks and where it ran out of memory, with their
 * neighbours, and of its curves the finest levels.
 *
 * Its steps are cut into units, and those are decided as if none had been. What went before is not
 * there to be counted a second time.
 */
#include <assert.h>

#include "error.h"
#include "mem.h"
#include "retention_types.h"

#define CURVE_BUCKETS_LEFT 256 /* of each of its curves */

/* ---- which one is next ---- */

/* Fills the list from those that ended behind the last one that was in it. */
static int read_ended(struct retention *retention, struct retention_queue *queue)
{
    struct retention_ended ended;
    if (queue->at < queue->count)
        return 0;
    queue->at = queue->count = 0;
    struct query query = retention_query(
        retention, RETENTION_ENDED_PROCESSES, Q_IN(queue->end_ns, queue->id, RETENTION_ENDED_READ),
        Q_OUT(Q_INT(ended.id), Q_INT(ended.end_ns), Q_INT(ended.first_seq), Q_INT(ended.last_seq)));
    while (query_next(&query)) {
        assert(queue->count < RETENTION_ENDED_READ);
        queue->list[queue->count++] = ended;
    }
    return query_end(&query);
}

/* ---- reading one again ---- */

struct again {
    struct retention *retention;
    struct retention_process *process;
    int64_t first_phase, last_phase; /* 0 and -1: none */
};

static int read_heaps(struct again *again)
{
    int64_t id;
    struct query query = retention_query(again->retention, RETENTION_HEAPS_OF,
                                         Q_IN(again->process->id), Q_OUT(Q_INT(id)));
    while (query_next(&query))
        if (!retention_add_heap(again->retention, again->process, id))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

static int read_span(struct again *again)
{
    int64_t first_phase = QUERY_NONE, last_phase = QUERY_NONE;
    int err = retention_first(again->retention, RETENTION_PHASE_SPAN, Q_IN(again->process->id),
                              Q_OUT(Q_OPT(first_phase), Q_OPT(last_phase)));
    if (first_phase != QUERY_NONE) {
        again->first_phase = first_phase;
        again->last_phase = last_phase;
    }
    return err < 0 ? err : 0;
}

/* Its blocks are of the unit in front where it does not begin behind that. */
static bool add_step(struct retention_process *process, const struct retention_unit *unit)
{
    if (unit->begin <= process->units[process->count - 1].begin && process->count > 1)
        return true;
    if (!retention_add_unit(process, unit->step, unit->begin))
        return false;
    process->units[process->count - 1] = *unit;
    return true;
}

static int read_steps(struct again *again)
{
    struct retention_process *process = again->process;
    struct retention_unit unit;
    struct query query = retention_query(again->retention, RETENTION_STEPS_OF,
                                         Q_IN(again->first_phase, again->last_phase, process->id),
                                         Q_OUT(Q_INT(unit.step), Q_INT(unit.begin),
                                               Q_INT(unit.first_phase), Q_INT(unit.last_phase)));
    while (query_next(&query))
        if (!add_step(process, &unit))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

static int read_peaks(struct again *again)
{
    struct retention_process *process = again->process;
    struct retention_peak peak;
    struct query query = retention_query(again->retention, RETENTION_PEAKS_OF,
                                         Q_IN(again->first_phase, again->last_phase, process->id),
                                         Q_OUT(Q_INT(peak.device), Q_INT(peak.seq), Q_REST));
    while (query_next(&query)) {
        if (MEM_GROW(process->peaks, process->peak_cap, process->peak_count + 1))
            process->peaks[process->peak_count++] = peak;
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

static int read_ooms(struct again *again)
{
    struct retention_process *process = again->process;
    int64_t seq;
    struct query query =
        retention_query(again->retention, RETENTION_OOMS_OF, Q_IN(process->id), Q_OUT(Q_INT(seq)));
    while (query_next(&query)) {
        if (MEM_GROW(process->ooms, process->oom_cap, process->oom_count + 1))
            process->ooms[process->oom_count++] = seq;
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

/* Of a process without steps: as they were cut while it ran. */
static bool add_stretches(struct retention_process *process, const struct retention_ended *ended)
{
    for (int64_t at = ended->first_seq + RETENTION_UNIT_SEQS; at <= ended->last_seq;
         at += RETENTION_UNIT_SEQS)
        if (!retention_add_unit(process, RETENTION_NONE, at))
            return false;
    return true;
}

/* The first unit has what came before the first step; two behind the end make the last one whole.
 */
static int read_units(struct again *again, const struct retention_ended *ended)
{
    struct retention_process *process = again->process;
    if (!retention_add_unit(process, RETENTION_NONE, ended->first_seq))
        return ERR_NOMEM;
    int err = read_steps(again);
    if (err == 0 && process->count == 1)
        err = add_stretches(process, ended) ? 0 : ERR_NOMEM;
    else if (process->spare)
        process->firsts--; /* what came before the first step is none of the first ones */
    if (err == 0)
        err = read_peaks(again);
    if (err == 0)
        err = read_ooms(again);
    int64_t end = process->units[process->count - 1].begin;
    end = (end > ended->last_seq ? end : ended->last_seq) + 1;
    if (err == 0 && (!retention_add_unit(process, RETENTION_NONE, end) ||
                     !retention_add_unit(process, RETENTION_NONE, end + 1)))
        err = ERR_NOMEM;
    return err;
}

static int read_again(struct again *again, const struct retention_ended *ended)
{
    int err = read_heaps(again);
    if (err == 0)
        err = read_span(again);
    return err < 0 ? err : read_units(again, ended);
}

/* ---- curves ---- */

static int drop_fine_levels(struct retention *retention, int64_t heap)
{
    static const char *const quantities[] = {"allocated", "reserved"};
    int err = 0;
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities && err == 0; i++)
        err = retention_run(retention, RETENTION_DROP_CURVE,
                            Q_IN(heap, quantities[i], CURVE_BUCKETS_LEFT));
    return err;
}

/* ---- one ---- */

static int decide_again(struct retention *retention, const struct retention_ended *ended,
                        enum retention_turn turn)
{
    struct again again = {.retention = retention, .last_phase = -1};
    bool gives_up = turn == RETENTION_GIVE_UP;
    again.process = retention_process_of(retention, ended->id);
    if (!again.process)
        return ERR_NOMEM;
    again.process->again = again.process->ended = true;
    retention->ended_waiting++;
    again.process->spare = gives_up ? 0 : RETENTION_LEAST;
    again.process->firsts = gives_up ? RETENTION_FIRST : 0; /* they stayed long enough */
    int err = read_again(&again, ended);
    for (size_t i = 0; i < again.process->heap_count && err == 0 && gives_up; i++)
        err = drop_fine_levels(retention, again.process->heaps[i]);
    return err;
}

int retention_ended_next(struct retention *retention, enum retention_turn turn, int64_t *rows,
                         bool *any)
{
    struct retention_queue *queue = &retention->turns[turn];
    int err = read_ended(retention, queue);
    const struct retention_ended *one = &queue->list[queue->at];
    *any = err == 0 && queue->at < queue->count &&
           (turn == RETENTION_GIVE_UP || one->end_ns <= retention->forgotten_ns);
    if (!*any)
        return err;
    const struct retention_process *known = retention_process_find(retention, one->id);
    if (known && known->ended)
        return 0; /* what it is remembered for is due */
    queue->end_ns = one->end_ns;
    queue->id = one->id;
    queue->at++;
    if (known)
        return 0;
    *rows -= RETENTION_ENDED_ROWS;
    return decide_again(retention, one, turn);
}
