#include "levers_step.h"

#include <stdlib.h>
#include <string.h>

#include "category_rules.h"
#include "error.h"
#include "living.h"
#include "mem.h"
#include "query.h"
#include "search.h"
#include "span.h"

/* ---- phases ---- */

static const char bounds_sql[] =
    "SELECT min(begin_seq) AS \"begin\","
    "  max(coalesce(end_seq, (SELECT last_seq FROM process WHERE id = ?1), begin_seq)) AS \"end\""
    "  FROM phase WHERE process = ?1 AND step = ?2 AND id BETWEEN ?3 AND ?4";

static const char phases_sql[] =
    "SELECT id, parent, begin_seq AS \"begin\", end_seq AS \"end\", coalesce(kind, '?') AS kind,"
    "  coalesce(name, '?') AS name FROM phase"
    " WHERE process = ?1 AND step = ?2 AND id BETWEEN ?3 AND ?4 AND scope = 'process'"
    " ORDER BY begin_seq, id";

/* A question after the phases of the step. */
/* The numbers of its phases: none, where the step has none. */
static int read_ids(struct db *db, const struct peak *peak, int64_t *first, int64_t *last)
{
    struct category_rules *rules;
    int err = category_load(db, peak->process, &rules);
    const struct category_bounds *step = err == 0 ? category_step(rules, peak->step) : NULL;
    *first = step ? step->first_id : 0;
    *last = step ? step->last_id : -1;
    category_free(rules);
    return err;
}

static int read_bounds(struct db *db, const struct peak *peak, struct levers_step *out)
{
    int64_t first, last;
    int err = read_ids(db, peak, &first, &last);
    if (err == 0)
        err = query_first(db, bounds_sql, Q_IN(peak->process, peak->step, first, last),
                          Q_OUT(Q_INT(out->begin), Q_INT(out->end)));
    if (err == DB_ROW)
        out->end = out->end < peak->seq ? peak->seq : out->end;
    return err < 0 ? err : 0;
}

static int take_phase(const struct levers_phase *phase, struct levers_step *out)
{
    if (!MEM_GROW(out->phases, out->phase_cap, out->phase_count + 1)) {
        mem_free(phase->kind);
        mem_free(phase->name);
        return ERR_NOMEM;
    }
    out->phases[out->phase_count] = *phase;
    if (phase->end == GROUP_NONE)
        out->phases[out->phase_count].end = LEVERS_NEVER;
    out->phase_count++;
    return 0;
}

static int read_phases(struct db *db, const struct peak *peak, struct levers_step *out)
{
    struct levers_phase phase;
    int64_t first, last;
    int err = read_ids(db, peak, &first, &last);
    if (err < 0)
        return err;
    struct query query = query_ask(db, phases_sql, Q_IN(peak->process, peak->step, first, last),
                                   Q_OUT(Q_INT(phase.id), Q_OPT(phase.parent), Q_INT(phase.begin),
                                         Q_OPT(phase.end), Q_COPY(phase.kind), Q_COPY(phase.name)));
    while (query_next(&query))
        query_fail(&query, take_phase(&phase, out));
    return query_end(&query);
}

const struct levers_phase *levers_phase_after(const struct levers_step *step, const char *kind,
                                              int64_t seq)
{
    for (size_t i = 0; i < step->phase_count; i++) {
        const struct levers_phase *phase = &step->phases[i];
        if (phase->parent == GROUP_NONE && phase->begin > seq && strcmp(phase->kind, kind) == 0)
            return phase;
    }
    return NULL;
}

const struct levers_phase *levers_phase_around(const struct levers_step *step, const char *kind,
                                               int64_t seq)
{
    for (size_t i = 0; i < step->phase_count; i++) {
        const struct levers_phase *phase = &step->phases[i];
        if (phase->parent == GROUP_NONE && phase->begin <= seq && seq <= phase->end &&
            strcmp(phase->kind, kind) == 0)
            return phase;
    }
    return NULL;
}

/* ---- blocks ---- */

/* From the last keyframe before the step to its end, in one pass. */
static const char blocks_sql[] =
    "WITH base(seq) AS (SELECT coalesce((SELECT max(seq) FROM keyframe WHERE seq < ?3), -1))"
    "SELECT a.seq, a.size, a.free_seq AS \"end\", a.site, a.requested AS asked FROM base"
    "  CROSS JOIN keyframe k ON k.seq = base.seq"
    "  CROSS JOIN allocation a ON a.seq = k.allocation CROSS JOIN heap h ON h.id = a.heap"
    "  WHERE k.allocation >= " SPAN_FIRST
    "   AND (a.free_seq < 0 OR a.free_seq >= ?3) AND h.process = ?1 AND h.device = ?2"
    " UNION ALL "
    "SELECT a.seq, a.size, a.free_seq, a.site, a.requested FROM base"
    "  CROSS JOIN allocation a ON a.seq > max(base.seq, " SPAN_FIRST " - 1)"
    "   AND a.seq <= ?4"
    "  CROSS JOIN heap h ON h.id = a.heap"
    "  WHERE (a.free_seq < 0 OR a.free_seq >= ?3) AND h.process = ?1 AND h.device = ?2";

static int by_seq(const void *one, const void *other)
{
    const struct levers_block *a = one, *b = other;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int take_block(const struct levers_block *told, struct levers_step *out)
{
    if (out->count == LEVERS_MOST)
        return ERR_LIMIT;
    if (!MEM_GROW(out->blocks, out->cap, out->count + 1))
        return ERR_NOMEM;
    struct levers_block *block = &out->blocks[out->count++];
    *block = *told;
    block->asked = block->asked == GROUP_NONE ? block->size : block->asked;
    if (block->end < 0)
        block->end = LEVERS_NEVER;
    out->older += block->seq < out->begin;
    out->base += block->seq < out->begin ? block->size : 0;
    return 0;
}

static int read_blocks(struct db *db, const struct peak *peak, struct levers_step *out)
{
    struct levers_block block = {.purpose = LEVERS_NOT_AT_PEAK};
    struct query query =
        query_ask(db, blocks_sql, Q_IN(peak->process, peak->device, out->begin, out->end),
                  Q_OUT(Q_INT(block.seq), Q_SIZE(block.size), Q_INT(block.end), Q_OPT(block.site),
                        Q_OPT(block.asked)));
    while (query_next(&query))
        query_fail(&query, take_block(&block, out));
    int err = query_end(&query);
    if (err == 0 && out->count)
        qsort(out->blocks, out->count, sizeof *out->blocks, by_seq);
    return err;
}

static struct levers_block *find_block(const struct levers_step *step, int64_t seq)
{
    const struct levers_block wanted = {.seq = seq};
    return step->count ? bsearch(&wanted, step->blocks, step->count, sizeof wanted, by_seq) : NULL;
}

static bool see_living(void *self, const struct living_block *living)
{
    struct levers_step *step = self;
    struct levers_block *block = find_block(step, living->seq);
    step->cut_short =
        step->cut_short || living->by == RULE_CUT_SHORT || living->by == RULE_ACTIVATION_CUT_SHORT;
    if (block) {
        block->purpose = living->purpose;
        block->tagged = living->by == RULE_TAG;
    }
    return true;
}

/* ---- events ---- */

static int by_time(const void *one, const void *other)
{
    const struct levers_event *a = one, *b = other;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int64_t level_before(const struct levers_step *step, int64_t seq,
                            const struct levers_event *changes, size_t count)
{
    int64_t level = step->base;
    for (size_t i = 0; i < step->event_count && step->events[i].seq < seq; i++)
        level += step->events[i].change;
    for (size_t at = 0; at < count && changes[at].seq < seq; at++)
        level += changes[at].change;
    return level;
}

static int64_t highest_of(const struct levers_step *step, const struct levers_event *changes,
                          size_t count)
{
    int64_t level = step->base, highest;
    size_t at = 0;
    if (step->moment != LEVERS_NEVER)
        return level_before(step, step->moment, changes, count);
    while (at < count && changes[at].seq <= step->begin)
        level += changes[at++].change;
    highest = level;
    for (size_t i = 0; i < step->event_count; i++) {
        while (at < count && changes[at].seq <= step->events[i].seq)
            level += changes[at++].change;
        level += step->events[i].change;
        highest = level > highest ? level : highest;
    }
    return highest;
}

static int make_events(struct levers_step *step)
{
    struct levers_event *event = mem_alloc(2 * step->count + 1, sizeof *event);
    if (!(step->events = event))
        return ERR_NOMEM;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (i >= step->older)
            *event++ = (struct levers_event){block->seq, block->size};
        if (block->end <= step->end)
            *event++ = (struct levers_event){block->end, -block->size};
    }
    step->event_count = (size_t)(event - step->events);
    qsort(step->events, step->event_count, sizeof *event, by_time);
    step->highest = highest_of(step, NULL, 0);
    return 0;
}

int levers_step_read(struct db *db, const struct peak *peak, struct levers_step *out)
{
    *out = (struct levers_step){.step = peak->step, .peak = peak->living_seq};
    out->moment = peak->refused ? peak->seq : LEVERS_NEVER;
    int err = read_bounds(db, peak, out);
    if (err == 0)
        err = read_phases(db, peak, out);
    if (err == 0)
        err = read_blocks(db, peak, out);
    if (err == 0)
        err = living_read(db, peak->process, peak->device, peak->living_seq, see_living, out);
    if (err == 0 && out->cut_short)
        err = levers_hold_as_before(db, peak, out);
    if (err == 0)
        err = make_events(out);
    return err;
}

void levers_step_clear(struct levers_step *step)
{
    for (size_t i = 0; i < step->phase_count; i++) {
        mem_free(step->phases[i].kind);
        mem_free(step->phases[i].name);
    }
    mem_free(step->phases);
    mem_free(step->blocks);
    mem_free(step->events);
    *step = (struct levers_step){0};
}

bool levers_step_is_valid(const struct levers_step *step)
{
    int64_t base = 0, now = step->base, left = 0, highest = step->base;
    if (step->older > step->count)
        return false;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if ((i && block->seq <= step->blocks[i - 1].seq) || block->end <= block->seq ||
            (i < step->older) != (block->seq < step->begin) || block->end < step->begin)
            return false;
        base += i < step->older ? block->size : 0;
        left += block->end > step->end ? block->size : 0;
    }
    for (size_t i = 0; i < step->event_count; i++) {
        if (i && step->events[i].seq < step->events[i - 1].seq)
            return false;
        now += step->events[i].change;
        highest = now > highest ? now : highest;
    }
    if (step->moment != LEVERS_NEVER)
        highest = level_before(step, step->moment, NULL, 0);
    return base == step->base && now == left && highest == step->highest;
}

/* ---- changes ---- */

static bool add_change(struct levers_edit *edit, struct levers_change change)
{
    if (!MEM_GROW(edit->changes, edit->cap, edit->count + 1))
        return false;
    edit->changes[edit->count++] = change;
    return true;
}

bool levers_cut(struct levers_edit *edit, size_t block, int64_t from, int64_t to)
{
    return from >= to || add_change(edit, (struct levers_change){block, from, to, false});
}

bool levers_lengthen(struct levers_edit *edit, size_t block, int64_t to)
{
    return add_change(edit, (struct levers_change){block, 0, to, true});
}

void levers_edit_clear(struct levers_edit *edit)
{
    mem_free(edit->changes);
    *edit = (struct levers_edit){0};
}

int levers_highest(const struct levers_step *step, const struct levers_edit *edit, int64_t *out)
{
    struct levers_event *changes = mem_alloc(2 * edit->count + 1, sizeof *changes);
    size_t count = 0;
    if (!changes)
        return ERR_NOMEM;
    for (size_t i = 0; i < edit->count; i++) {
        const struct levers_change *change = &edit->changes[i];
        const struct levers_block *block = &step->blocks[change->block];
        int64_t from = change->from > block->seq ? change->from : block->seq;
        int64_t to = change->to < block->end ? change->to : block->end;
        int64_t sign = change->longer ? 1 : -1;
        if (change->longer) {
            from = block->end;
            to = change->to;
        }
        if (from >= to)
            continue;
        changes[count++] = (struct levers_event){from, sign * block->size};
        changes[count++] = (struct levers_event){to, -sign * block->size};
    }
    qsort(changes, count, sizeof *changes, by_time);
    *out = highest_of(step, changes, count);
    mem_free(changes);
    return 0;
}

/* ---- births of a stretch ---- */

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int by_likeness(const void *one, const void *other)
{
    const struct levers_birth *a = one, *b = other;
    int order = compare(a->asked, b->asked);
    if (order == 0)
        order = compare(a->site, b->site);
    return order ? order : compare(a->seq, b->seq);
}

int levers_births_read(struct db *db, const struct peak *peak, int64_t begin, int64_t end,
                       struct levers_births *out)
{
    struct levers_birth birth;
    *out = (struct levers_births){0};
    struct query query =
        query_ask(db,
                  "SELECT a.seq, coalesce(a.requested, a.size) AS asked, a.site FROM allocation a"
                  " CROSS JOIN heap h ON h.id = a.heap"
                  " WHERE a.seq BETWEEN ?3 AND ?4 AND h.process = ?1 AND h.device = ?2",
                  Q_IN(peak->process, peak->device, begin, end),
                  Q_OUT(Q_INT(birth.seq), Q_INT(birth.asked), Q_OPT(birth.site)));
    while (query_next(&query)) {
        if (out->count == LEVERS_MOST)
            query_fail(&query, ERR_LIMIT);
        else if (!MEM_GROW(out->births, out->cap, out->count + 1))
            query_fail(&query, ERR_NOMEM);
        else
            out->births[out->count++] = birth;
    }
    int err = query_end(&query);
    if (err == 0 && out->count)
        qsort(out->births, out->count, sizeof *out->births, by_likeness);
    return err;
}

void levers_births_clear(struct levers_births *births)
{
    mem_free(births->births);
    *births = (struct levers_births){0};
}

/* The place of the first one that is not before `wanted`. */
static size_t lower(const struct levers_births *births, const struct levers_birth *wanted)
{
    size_t low;
    SEARCH_FIRST(low, 0, births->count, by_likeness(&births->births[low], wanted) < 0);
    return low;
}

size_t levers_births_like(const struct levers_births *births, int64_t asked, int64_t site,
                          const struct levers_birth **first)
{
    const struct levers_birth begin = {INT64_MIN, asked, site}, end = {INT64_MAX, asked, site};
    size_t from = lower(births, &begin), to = lower(births, &end);
    *first = births->births + from;
    return to - from;
}
