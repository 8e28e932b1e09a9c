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

/* Rows of a statement one by one; 0 ends it. */
typedef int (*row_fn)(void *self, struct db_stmt *row);

static int each_row(struct retention *retention, enum retention_statement which,
                    const int64_t *values, int count, row_fn see, void *self)
{
    int err;
    struct db_stmt *stmt = retention_statement(retention, which, &err);
    if (err < 0)
        return err;
    for (int i = 0; i < count; i++)
        db_bind_int(stmt, i, values[i]);
    while ((err = db_step(stmt)) == DB_ROW && (err = see(self, stmt)) == 0)
        continue;
    db_reset(stmt);
    return err < 0 ? err : 0;
}

/* ---- which one is next ---- */

static int take_ended(void *self, struct db_stmt *row)
{
    struct retention_queue *queue = self;
    struct retention_ended *one = &queue->list[queue->count++];
    assert(queue->count < RETENTION_ENDED_READ);
    *one = (struct retention_ended){db_column_int(row, 0), db_column_int(row, 1),
                                    db_column_int(row, 2), db_column_int(row, 3)};
    return 0;
}

/* Fills the list from those that ended behind the last one that was in it. */
static int read_ended(struct retention *retention, struct retention_queue *queue)
{
    const int64_t behind[] = {queue->end_ns, queue->id, RETENTION_ENDED_READ};
    if (queue->at < queue->count)
        return 0;
    queue->at = queue->count = 0;
    return each_row(retention, RETENTION_ENDED_PROCESSES, behind, 3, take_ended, queue);
}

/* ---- reading one again ---- */

struct again {
    struct retention *retention;
    struct retention_process *process;
    int64_t first_phase, last_phase;
};

static int take_heap(void *self, struct db_stmt *row)
{
    struct again *again = self;
    return retention_add_heap(again->retention, again->process, db_column_int(row, 0)) ? 0
                                                                                       : ERR_NOMEM;
}

static int take_phases(void *self, struct db_stmt *row)
{
    struct again *again = self;
    if (db_column_type(row, 0) != DB_NULL) {
        again->first_phase = db_column_int(row, 0);
        again->last_phase = db_column_int(row, 1);
    }
    return 0;
}

static int take_unit(void *self, struct db_stmt *row)
{
    struct retention_process *process = ((struct again *)self)->process;
    const struct retention_unit *last = &process->units[process->count - 1];
    int64_t begin = db_column_int(row, 1);
    if (begin <= last->begin && process->count > 1)
        return 0; /* its blocks are of the unit in front */
    if (!retention_add_unit(process, db_column_int(row, 0), begin))
        return ERR_NOMEM;
    struct retention_unit *unit = &process->units[process->count - 1];
    unit->first_phase = db_column_int(row, 2);
    unit->last_phase = db_column_int(row, 3);
    return 0;
}

static int take_peak(void *self, struct db_stmt *row)
{
    struct retention_process *process = ((struct again *)self)->process;
    if (!MEM_GROW(process->peaks, process->peak_cap, process->peak_count + 1))
        return ERR_NOMEM;
    process->peaks[process->peak_count++] =
        (struct retention_peak){db_column_int(row, 0), db_column_int(row, 1)};
    return 0;
}

static int take_oom(void *self, struct db_stmt *row)
{
    struct retention_process *process = ((struct again *)self)->process;
    if (!MEM_GROW(process->ooms, process->oom_cap, process->oom_count + 1))
        return ERR_NOMEM;
    process->ooms[process->oom_count++] = db_column_int(row, 0);
    return 0;
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
    const int64_t id[] = {ended->id}, of[] = {again->first_phase, again->last_phase, ended->id};
    if (!retention_add_unit(process, RETENTION_NONE, ended->first_seq))
        return ERR_NOMEM;
    int err = each_row(again->retention, RETENTION_STEPS_OF, of, 3, take_unit, again);
    if (err == 0 && process->count == 1)
        err = add_stretches(process, ended) ? 0 : ERR_NOMEM;
    else if (process->spare)
        process->firsts--; /* what came before the first step is none of the first ones */
    if (err == 0)
        err = each_row(again->retention, RETENTION_PEAKS_OF, of, 3, take_peak, again);
    if (err == 0)
        err = each_row(again->retention, RETENTION_OOMS_OF, id, 1, take_oom, again);
    int64_t end = process->units[process->count - 1].begin;
    end = (end > ended->last_seq ? end : ended->last_seq) + 1;
    if (err == 0 && (!retention_add_unit(process, RETENTION_NONE, end) ||
                     !retention_add_unit(process, RETENTION_NONE, end + 1)))
        err = ERR_NOMEM;
    return err;
}

static int read_again(struct again *again, const struct retention_ended *ended)
{
    const int64_t id[] = {ended->id};
    int err = each_row(again->retention, RETENTION_HEAPS_OF, id, 1, take_heap, again);
    if (err == 0)
        err = each_row(again->retention, RETENTION_PHASE_SPAN, id, 1, take_phases, again);
    return err < 0 ? err : read_units(again, ended);
}

/* ---- curves ---- */

static int drop_fine_levels(struct retention *retention, int64_t heap)
{
    static const char *const quantities[] = {"allocated", "reserved"};
    int err = 0;
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities && err == 0; i++) {
        struct db_stmt *stmt = retention_statement(retention, RETENTION_DROP_CURVE, &err);
        if (err < 0)
            return err;
        db_bind_int(stmt, 0, heap);
        db_bind_text(stmt, 1, quantities[i], -1);
        db_bind_int(stmt, 2, CURVE_BUCKETS_LEFT);
        err = db_run(stmt);
    }
    return err;
}

/* ---- one ---- */

static int decide_again(struct retention *retention, const struct retention_ended *ended,
                        enum retention_turn turn)
{
    struct again again = {.retention = retention, .last_phase = -1};
    bool gives_up = turn == RETENTION_GIVE_UP;
    assert(turn < RETENTION_TURNS && !retention_process_find(retention, ended->id));
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
