#include "levers_phases.h"

#include "error.h"
#include "group.h"
#include "mem.h"
#include "phase_kind.h"
#include "query.h"
#include "search.h"

static enum levers_phase_kind kind_of(enum phase_kind kind)
{
    static const enum levers_phase_kind kinds[PHASE_KINDS] = {
        [PHASE_KIND_ZERO_GRAD] = LEVERS_ZERO_GRAD, [PHASE_KIND_FORWARD] = LEVERS_FORWARD,
        [PHASE_KIND_LOSS] = LEVERS_LOSS,           [PHASE_KIND_BACKWARD] = LEVERS_BACKWARD,
        [PHASE_KIND_OPTIMIZER] = LEVERS_OPTIMIZER, [PHASE_KIND_RECOMPUTE] = LEVERS_RECOMPUTE,
    };
    return kinds[kind];
}

static bool put_in_row(struct levers_phases *out, size_t at)
{
    const struct levers_phase *phase = &out->phases[at];
    struct levers_phase_row *row = &out->of[phase->kind];
    out->recomputes = out->recomputes || phase->kind == LEVERS_RECOMPUTE;
    if (phase->parent != GROUP_NONE)
        return true;
    if (!MEM_GROW(row->at, row->cap, row->count + 1))
        return false;
    row->at[row->count++] = at;
    return true;
}

static bool take_phase(const struct levers_phase *told, const char *kind, struct levers_phases *out)
{
    if (!MEM_GROW(out->phases, out->cap, out->count + 1)) {
        mem_free(told->name);
        return false;
    }
    struct levers_phase *phase = &out->phases[out->count++];
    *phase = *told;
    phase->kind = kind_of(phase_kind_from(kind));
    phase->evaluates = phase_kind_from(kind) == PHASE_KIND_EVAL;
    if (phase->end == GROUP_NONE)
        phase->end = LEVERS_NEVER;
    return true;
}

/* ---- a closure ---- */

static bool is_training(enum levers_phase_kind kind)
{
    return kind == LEVERS_FORWARD || kind == LEVERS_LOSS || kind == LEVERS_BACKWARD;
}

/* The phases right inside of the one at `at` stand for themselves; when the last of them ends, or
 * GROUP_NONE where there is no forward, loss or backward among them. */
static int64_t let_out(struct levers_phases *out, size_t at)
{
    const struct levers_phase *outer = &out->phases[at];
    bool trains = false;
    int64_t last = GROUP_NONE;
    for (size_t i = at + 1; i < out->count && out->phases[i].begin <= outer->end; i++)
        trains = trains || (out->phases[i].parent == outer->id && is_training(out->phases[i].kind));
    for (size_t i = at + 1; trains && i < out->count && out->phases[i].begin <= outer->end; i++)
        if (out->phases[i].parent == outer->id) {
            out->phases[i].parent = outer->parent;
            last = out->phases[i].end;
        }
    return last;
}

/* optimizer.step(closure), as Lightning and LBFGS call it: forward and backward run inside of it,
 * and the update is what comes behind them. */
static void shorten_optimizer(struct levers_phases *out, size_t at)
{
    int64_t begin = let_out(out, at);
    if (begin == GROUP_NONE)
        return;
    struct levers_phase update = out->phases[at];
    update.begin = begin;
    for (; at + 1 < out->count && out->phases[at + 1].begin < begin; at++)
        out->phases[at] = out->phases[at + 1];
    out->phases[at] = update;
}

static bool make_rows(struct levers_phases *out)
{
    for (size_t i = out->count; i-- > 0;)
        if (out->phases[i].kind == LEVERS_OPTIMIZER)
            shorten_optimizer(out, i);
    for (size_t i = 0; i < out->count; i++)
        if (!put_in_row(out, i))
            return false;
    return true;
}

int levers_phases_read(struct db *db, int64_t process, int64_t begin, int64_t end,
                       struct levers_phases *out)
{
    struct levers_phase phase = {0};
    const char *kind;
    struct query query =
        query_ask(db,
                  "SELECT id, parent, begin_seq AS \"begin\", end_seq AS \"end\", kind,"
                  "  coalesce(name, '') AS name, step FROM phase"
                  " WHERE process = ?1 AND begin_seq BETWEEN ?2 AND ?3"
                  "   AND scope = 'process' ORDER BY begin_seq, id",
                  Q_IN(process, begin, end),
                  Q_OUT(Q_INT(phase.id), Q_OPT(phase.parent), Q_INT(phase.begin), Q_OPT(phase.end),
                        Q_TEXT(kind), Q_COPY(phase.name), Q_OPT(phase.step)));
    while (query_next(&query))
        if (!take_phase(&phase, kind, out))
            query_fail(&query, ERR_NOMEM);
    int err = query_end(&query);
    return err == 0 && !make_rows(out) ? ERR_NOMEM : err;
}

void levers_phases_clear(struct levers_phases *phases)
{
    for (size_t i = 0; i < phases->count; i++)
        mem_free(phases->phases[i].name);
    for (int i = 0; i < LEVERS_PHASE_KINDS; i++)
        mem_free(phases->of[i].at);
    mem_free(phases->phases);
    *phases = (struct levers_phases){0};
}

bool levers_phases_is_valid(const struct levers_phases *phases)
{
    for (size_t i = 1; i < phases->count; i++)
        if (phases->phases[i].begin < phases->phases[i - 1].begin)
            return false;
    for (int kind = 0; kind < LEVERS_PHASE_KINDS; kind++)
        for (size_t i = 0; i < phases->of[kind].count; i++) {
            size_t at = phases->of[kind].at[i];
            if (at >= phases->count || (i && at <= phases->of[kind].at[i - 1]) ||
                phases->phases[at].kind != (enum levers_phase_kind)kind ||
                phases->phases[at].parent != GROUP_NONE)
                return false;
        }
    return true;
}

/* How many of that kind begin at `seq` or before. */
static size_t begun(const struct levers_phases *phases, enum levers_phase_kind kind, int64_t seq)
{
    const struct levers_phase_row *row = &phases->of[kind];
    size_t at;
    SEARCH_FIRST(at, 0, row->count, phases->phases[row->at[at]].begin <= seq);
    return at;
}

const struct levers_phase *levers_phase_after(const struct levers_phases *phases,
                                              enum levers_phase_kind kind, int64_t seq)
{
    size_t at = begun(phases, kind, seq);
    return at < phases->of[kind].count ? &phases->phases[phases->of[kind].at[at]] : NULL;
}

const struct levers_phase *levers_phase_around(const struct levers_phases *phases,
                                               enum levers_phase_kind kind, int64_t seq)
{
    size_t at = begun(phases, kind, seq);
    const struct levers_phase *last = at ? &phases->phases[phases->of[kind].at[at - 1]] : NULL;
    return last && seq <= last->end ? last : NULL;
}

const struct levers_phase *levers_phase_before(const struct levers_phases *phases,
                                               enum levers_phase_kind kind, int64_t seq)
{
    size_t at = begun(phases, kind, seq);
    while (at) {
        const struct levers_phase *phase = &phases->phases[phases->of[kind].at[--at]];
        if (phase->end < seq)
            return phase;
    }
    return NULL;
}

size_t levers_phase_count(const struct levers_phases *phases, enum levers_phase_kind kind,
                          int64_t step)
{
    const struct levers_phase_row *row = &phases->of[kind];
    size_t count = 0;
    for (size_t i = 0; i < row->count; i++)
        count += phases->phases[row->at[i]].step == step;
    return count;
}

const struct levers_phase *levers_phase_at(const struct levers_phases *phases, int64_t seq)
{
    size_t at;
    SEARCH_FIRST(at, 0, phases->count, phases->phases[at].begin <= seq);
    while (at) {
        const struct levers_phase *phase = &phases->phases[--at];
        if (seq <= phase->end)
            return phase;
        if (phase->parent == GROUP_NONE)
            break;
    }
    return NULL;
}

bool levers_computes(const struct levers_phases *phases, int64_t seq)
{
    return levers_phase_around(phases, LEVERS_FORWARD, seq) ||
           levers_phase_around(phases, LEVERS_LOSS, seq);
}
