/*
 * Phases that go. A block that stays says in which phase it was born, and in which it died, by the
 * stretches of its process: so those phases stay, and the phases around them.
 */
#include <assert.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "retention_types.h"
#include "search.h"

struct stretch_row {
    int64_t begin, phase;
};

struct phase_row {
    int64_t id, parent; /* 0: none */
    bool stays;
    bool whole; /* it lies in the unit, and has ended */
    bool backward;
};

struct shape { /* of a unit */
    struct stretch_row *stretches;
    size_t stretch_count, stretch_cap;
    struct phase_row *phases; /* by id */
    size_t phase_count, phase_cap;
};

/* ---- reading ---- */

static int read_stretches(struct retention *retention, const struct retention_process *process,
                          const struct retention_kept *unit, struct shape *shape)
{
    struct stretch_row row;
    struct query query = retention_query(retention, RETENTION_STRETCHES,
                                         Q_IN(process->id, unit->begin, unit->end - 1),
                                         Q_OUT(Q_INT(row.begin), Q_INT(row.phase)));
    while (query_next(&query)) {
        if (MEM_GROW(shape->stretches, shape->stretch_cap, shape->stretch_count + 1))
            shape->stretches[shape->stretch_count++] = row;
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

static bool remember_over(struct retention_process *process, int64_t phase)
{
    assert(phase > 0);
    if (!MEM_GROW(process->over, process->over_cap, process->over_count + 1))
        return false;
    process->over[process->over_count++] = phase;
    return true;
}

struct phase_found {
    int64_t id, parent;         /* 0: none */
    int64_t begin_seq, end_seq; /* QUERY_NONE: it is open */
    bool backward, of_thread;
};

/* Those that have ended; one that is open, or has come into a unit that is decided, stays. */
static bool add_phase(struct retention_process *process, const struct retention_kept *unit,
                      const struct phase_found *found, struct shape *shape)
{
    bool begins = found->begin_seq >= unit->begin;
    bool whole = begins && found->end_seq != QUERY_NONE && found->end_seq < unit->end;
    if (!MEM_GROW(shape->phases, shape->phase_cap, shape->phase_count + 1))
        return false;
    shape->phases[shape->phase_count++] = (struct phase_row){
        .id = found->id,
        .parent = found->parent,
        .stays = !whole,
        .whole = whole,
        .backward = found->backward,
    };
    return whole || !begins || !found->of_thread || remember_over(process, found->id);
}

static int read_phases(struct retention *retention, struct retention_process *process,
                       const struct retention_kept *unit, struct shape *shape)
{
    struct phase_found found;
    struct query query = retention_query(
        retention, RETENTION_PHASES_OF, Q_IN(unit->first_phase, unit->last_phase, process->id),
        Q_OUT(Q_INT(found.id), Q_INT(found.parent), Q_INT(found.begin_seq), Q_OPT(found.end_seq),
              Q_INT(found.backward), Q_INT(found.of_thread)));
    while (query_next(&query))
        if (!add_phase(process, unit, &found, shape))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

static struct phase_row *find_phase(const struct shape *shape, int64_t id)
{
    size_t at;
    SEARCH_FIRST(at, 0, shape->phase_count, shape->phases[at].id < id);
    return at < shape->phase_count && shape->phases[at].id == id ? &shape->phases[at] : NULL;
}

/* ---- what stays ---- */

static void phase_stays(struct shape *shape, int64_t id)
{
    for (struct phase_row *row = find_phase(shape, id); row && !row->stays;
         row = find_phase(shape, row->parent))
        row->stays = true;
}

/* The stretch that a seq lies in, if it began in the unit. */
static void seq_stays(struct shape *shape, int64_t seq)
{
    size_t at;
    SEARCH_FIRST(at, 0, shape->stretch_count, shape->stretches[at].begin <= seq);
    if (at)
        phase_stays(shape, shape->stretches[at - 1].phase);
}

static int own_phases_stay(struct retention *retention, const struct retention_kept *unit,
                           struct shape *shape)
{
    int64_t phase;
    struct query query = retention_query(retention, RETENTION_OWN_PHASES,
                                         Q_IN(unit->begin, unit->end - 1), Q_OUT(Q_INT(phase)));
    while (query_next(&query))
        phase_stays(shape, phase);
    return query_end(&query);
}

/* The step of a block that stays ends where it ended, and so does its backward. */
static void frame_stays(struct shape *shape)
{
    for (size_t i = 0; i < shape->phase_count; i++)
        if (shape->phases[i].backward || i + 1 == shape->phase_count)
            phase_stays(shape, shape->phases[i].id);
}

/* Parents whose children stay for a reason of their own. */
static void parents_stay(struct shape *shape)
{
    for (size_t i = shape->phase_count; i-- > 0;)
        if (shape->phases[i].stays && shape->phases[i].parent)
            phase_stays(shape, shape->phases[i].parent);
}

/* ---- dropping ---- */

/* What it did on each device. */
static int drop_parts(struct retention *retention, int64_t phase)
{
    int err = retention_run(retention, RETENTION_SUM_PHASE, Q_IN(phase));
    assert(phase > 0);
    return err < 0 ? err : retention_run(retention, RETENTION_DROP_PARTS, Q_IN(phase));
}

/* The stretches before the phase: they are found by what its row says. */
static int drop_phase(struct retention *retention, int64_t phase)
{
    int err = drop_parts(retention, phase);
    if (err == 0)
        err = retention_run(retention, RETENTION_DROP_STRETCHES, Q_IN(phase));
    return err < 0 ? err : retention_run(retention, RETENTION_DROP_PHASE, Q_IN(phase));
}

/* ---- phases of threads, which do not end with the step ---- */

struct over { /* one of them, read again */
    bool there, ended;
    int64_t begin, end;
};

static int read_over(struct retention *retention, const struct retention_process *process,
                     int64_t phase, struct over *out)
{
    int64_t begin_seq = 0, end_seq = QUERY_NONE;
    int err = retention_first(retention, RETENTION_PHASES_OF, Q_IN(phase, phase, process->id),
                              Q_OUT(Q_INT(begin_seq), Q_OPT(end_seq), Q_REST));
    *out = (struct over){.there = err == DB_ROW, .ended = end_seq != QUERY_NONE};
    out->begin = begin_seq;
    out->end = out->ended ? end_seq : 0;
    return err < 0 ? err : 0;
}

/* Blocks of its own that stay, or a phase inside of it. */
static int holds_something(struct retention *retention, int64_t phase, const struct over *over,
                           int64_t last_phase, bool *holds)
{
    *holds = false;
    int err =
        retention_first(retention, RETENTION_HAS_BIRTH,
                        Q_IN(over->begin, over->end, phase, last_phase), Q_OUT(Q_INT(*holds)));
    return err < 0 ? err : 0;
}

/* Those that ended by the end of the unit: all units that they met are decided. */
static int drop_over(struct retention *retention, struct retention_process *process,
                     const struct retention_kept *unit, int64_t *dropped)
{
    size_t left = 0;
    int err = 0;
    for (size_t i = 0; i < process->over_count; i++) {
        int64_t phase = process->over[i];
        struct over over = {.there = true};
        bool holds = true;
        if (err == 0)
            err = read_over(retention, process, phase, &over);
        if (err < 0 || (over.there && (!over.ended || over.end >= unit->end))) {
            process->over[left++] = phase;
            continue;
        }
        if (!over.there || retention_meets(process, over.begin, over.end))
            continue;
        err = holds_something(retention, phase, &over, unit->last_phase, &holds);
        if (err == 0)
            err = holds ? drop_parts(retention, phase) : drop_phase(retention, phase);
        *dropped += err == 0 && !holds;
    }
    process->over_count = left;
    return err;
}

static int drop_phases(struct retention *retention, struct retention_process *process,
                       const struct retention_kept *stretch, const struct retention_blocks *births,
                       const struct retention_blocks *deaths)
{
    struct shape shape = {0};
    int64_t dropped = 0;
    if (stretch->first_phase == RETENTION_NONE)
        return 0;
    int err = read_stretches(retention, process, stretch, &shape);
    if (err == 0)
        err = read_phases(retention, process, stretch, &shape);
    if (err == 0)
        err = own_phases_stay(retention, stretch, &shape);
    for (size_t i = 0; i < births->count; i++)
        seq_stays(&shape, births->at[i].seq);
    for (size_t i = 0; i < deaths->count; i++)
        seq_stays(&shape, deaths->at[i].free_seq);
    if (births->count)
        frame_stays(&shape);
    parents_stay(&shape);
    for (size_t i = 0; i < shape.phase_count && err == 0; i++) {
        if (!shape.phases[i].whole)
            continue;
        err = shape.phases[i].stays ? drop_parts(retention, shape.phases[i].id)
                                    : drop_phase(retention, shape.phases[i].id);
        dropped += !shape.phases[i].stays;
    }
    if (err == 0)
        err = drop_over(retention, process, stretch, &dropped);
    if (err == 0)
        retention_count(process, RETENTION_PHASES, stretch->begin, stretch->end - 1, dropped);
    mem_free(shape.stretches);
    mem_free(shape.phases);
    return err;
}

/* ---- what is left of a unit ---- */

/* The place of the first that ends behind seq. */
static size_t find_left(const struct retention_process *process, int64_t seq)
{
    size_t at;
    SEARCH_FIRST(at, 0, process->left_count, process->left[at].end <= seq);
    return at;
}

static bool leave(struct retention_process *process, const struct retention_kept *unit,
                  size_t blocks)
{
    size_t at = find_left(process, unit->begin);
    if (!blocks)
        return true;
    if (!MEM_GROW(process->left, process->left_cap, process->left_count + 1))
        return false;
    memmove(&process->left[at + 1], &process->left[at],
            (process->left_count++ - at) * sizeof *process->left);
    process->left[at] = (struct retention_left){unit->begin, unit->end, unit->first_phase,
                                                unit->last_phase, (int64_t)blocks};
    return true;
}

/* Blocks that stay and died in the unit say so by its phases. */
static bool deaths_in(const struct retention_process *process, const struct retention_kept *unit,
                      struct retention_blocks *deaths)
{
    for (size_t i = 0; i < process->spared.count; i++) {
        const struct retention_block *block = &process->spared.at[i];
        if (block->free_seq < unit->begin || block->free_seq >= unit->end)
            continue;
        if (!MEM_GROW(deaths->at, deaths->cap, deaths->count + 1))
            return false;
        deaths->at[deaths->count++] = *block;
    }
    return true;
}

int retention_drop_phases_left(struct retention *retention, struct retention_process *process,
                               int64_t seq)
{
    size_t at = find_left(process, seq);
    struct retention_left *left = &process->left[at];
    if (at == process->left_count || left->begin > seq || --left->blocks > 0)
        return 0;
    struct retention_kept unit = {left->begin, left->end, left->first_phase, left->last_phase,
                                  false};
    struct retention_blocks none = {0}, deaths = {0};
    memmove(left, left + 1, (--process->left_count - at) * sizeof *left);
    int err = deaths_in(process, &unit, &deaths)
                  ? drop_phases(retention, process, &unit, &none, &deaths)
                  : ERR_NOMEM;
    mem_free(deaths.at);
    return err;
}

int retention_drop_phases(struct retention *retention, struct retention_process *process,
                          const struct retention_kept *stretch,
                          const struct retention_blocks *births,
                          const struct retention_blocks *deaths)
{
    if (!leave(process, stretch, births->count))
        return ERR_NOMEM;
    return drop_phases(retention, process, stretch, births, deaths);
}
