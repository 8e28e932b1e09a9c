/*
 * Two passes: over the phases of the process, which makes the bounds of its steps and of the run as
 * views step_bounds and run_bounds gather them, and over its stretches.
 */
#include "category_rules.h"

#include <assert.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"

static bool number_of_kind(struct category_rules *rules, const char *name, uint16_t *out)
{
    size_t i = phase_kind_from(name);
    for (; i >= PHASE_KIND_UNKNOWN && i - PHASE_KIND_UNKNOWN < rules->kind_count; i++)
        if (strcmp(rules->kinds[i - PHASE_KIND_UNKNOWN], name) == 0)
            break;
    *out = (uint16_t)i;
    if (i < PHASE_KIND_UNKNOWN + rules->kind_count)
        return true;
    if (i > UINT16_MAX || !MEM_GROW(rules->kinds, rules->kind_cap, rules->kind_count + 1))
        return false;
    char *copy = mem_copy(name, strlen(name));
    if (copy)
        rules->kinds[rules->kind_count++] = copy;
    return copy != NULL;
}

const char *category_kind_name(const struct category_rules *rules, uint16_t kind)
{
    return kind < PHASE_KIND_UNKNOWN ? phase_kind_name((enum phase_kind)kind)
                                     : rules->kinds[kind - PHASE_KIND_UNKNOWN];
}

static struct category_bounds *bounds_of(struct category_rules *rules, int64_t step, int64_t id,
                                         uint32_t *index)
{
    uint64_t place = map_get(&rules->step_index, (uint64_t)step);
    if (place == MAP_NONE) {
        place = rules->step_count;
        if (place >= CATEGORY_NO_STEP || !MEM_GROW(rules->steps, rules->step_cap, place + 1) ||
            !map_put(&rules->step_index, (uint64_t)step, place, NULL))
            return NULL;
        rules->steps[rules->step_count++] =
            (struct category_bounds){.step = step,
                                     .begin_seq = INT64_MAX,
                                     .end_seq = CATEGORY_UNKNOWN,
                                     .backward_end_seq = CATEGORY_UNKNOWN,
                                     .cut_seq = CATEGORY_UNKNOWN,
                                     .first_id = id};
    }
    *index = (uint32_t)place;
    rules->steps[place].last_id = id; /* they come in their order */
    return &rules->steps[place];
}

const struct category_bounds *category_step(const struct category_rules *rules, int64_t step)
{
    uint64_t place = map_get(&rules->step_index, (uint64_t)step);
    return place == MAP_NONE ? NULL : &rules->steps[place];
}

size_t category_step_count(const struct category_rules *rules)
{
    return rules->step_count;
}

void category_step_begin(const struct category_rules *rules, size_t index, int64_t *step,
                         int64_t *begin_seq)
{
    assert(index < rules->step_count);
    *step = rules->steps[index].step;
    *begin_seq = rules->steps[index].begin_seq;
}

static const struct category_bounds *last_whole(const struct category_rules *rules, int64_t before)
{
    const struct category_bounds *last = NULL;
    for (size_t i = 0; i < rules->step_count; i++) {
        const struct category_bounds *bounds = &rules->steps[i];
        if (bounds->end_seq != CATEGORY_UNKNOWN && bounds->step < before &&
            (!last || bounds->step > last->step))
            last = bounds;
    }
    return last;
}

int64_t category_test_behind(const struct category_rules *rules)
{
    const struct category_bounds *last = last_whole(rules, INT64_MAX), *other;
    if (!rules->ended_well || !last || last->open || last->backward_end_seq != CATEGORY_UNKNOWN ||
        last->cut_seq != CATEGORY_UNKNOWN || last->backward_open)
        return CATEGORY_UNKNOWN;
    other = last_whole(rules, last->step);
    return other && other->backward_end_seq != CATEGORY_UNKNOWN ? last->step : CATEGORY_UNKNOWN;
}

bool category_steps(const struct category_rules *rules, int64_t *first_step, int64_t *last_step,
                    int64_t *end_seq)
{
    const int64_t test = category_test_behind(rules);
    const struct category_bounds *last =
        last_whole(rules, test == CATEGORY_UNKNOWN ? INT64_MAX : test);
    if (!last)
        return false;
    *first_step = rules->first_step;
    *last_step = last->step;
    *end_seq = last->end_seq;
    return true;
}

static void raise_to(int64_t *highest, int64_t value)
{
    if (value > *highest)
        *highest = value;
}

/* As views step_bounds and run_bounds gather them. */
static void count_phase(struct category_rules *rules, struct category_bounds *bounds, uint16_t kind,
                        int64_t begin_seq, int64_t end_seq, bool cut)
{
    bool open = end_seq == CATEGORY_UNKNOWN, backward = kind == PHASE_KIND_BACKWARD;
    bounds->open = bounds->open || open;
    rules->run_open = rules->run_open || open;
    raise_to(&bounds->end_seq, end_seq);
    raise_to(&rules->last_seq, end_seq);
    if (backward) {
        bounds->backward_open = bounds->backward_open || open || cut;
        raise_to(&bounds->backward_end_seq, end_seq);
    }
    if (cut && kind != PHASE_KIND_OTHER)
        raise_to(&bounds->cut_seq, end_seq);
    raise_to(&rules->last_step, bounds->step);
    if (bounds->step < rules->first_step)
        rules->first_step = bounds->step;
    if (begin_seq < bounds->begin_seq)
        bounds->begin_seq = begin_seq;
    if (begin_seq < rules->first_seq)
        rules->first_seq = begin_seq;
    if (kind == PHASE_KIND_OPTIMIZER && bounds->step < rules->optimizer_step)
        rules->optimizer_step = bounds->step;
}

struct phase_row {
    struct category_phase phase;
    const char *kind, *ended;
    int64_t step, begin_seq, end_seq;
};

static bool is_cut(enum phase_end end)
{
    return end == PHASE_END_EXCEPTION || end == PHASE_END_PROCESS;
}

static int take_phase(struct category_rules *rules, const struct phase_row *row)
{
    if (rules->phase_count >= CATEGORY_NO_PHASE)
        return ERR_LIMIT;
    if (!MEM_GROW(rules->phases, rules->phase_cap, rules->phase_count + 1))
        return ERR_NOMEM;
    struct category_phase phase = row->phase;
    phase.step = CATEGORY_NO_STEP;
    phase.role = PHASE_KIND_NONE;
    if (!number_of_kind(rules, row->kind, &phase.kind))
        return ERR_NOMEM;
    if (row->step != QUERY_NONE) {
        struct category_bounds *bounds = bounds_of(rules, row->step, phase.id, &phase.step);
        if (!bounds)
            return ERR_NOMEM;
        count_phase(rules, bounds, phase.kind, row->begin_seq, row->end_seq,
                    is_cut(phase_end_from(row->ended)));
    } else if (row->begin_seq < rules->first_seq) {
        rules->early_id = phase.id;
    }
    rules->phases[rules->phase_count++] = phase;
    return 0;
}

static int read_phases(struct category_rules *rules)
{
    struct phase_row row = {.kind = ""};
    struct query query = query_ask(rules->db,
                                   "SELECT id, parent, kind, step, begin_seq, end_seq, ended"
                                   " FROM phase WHERE process = ? ORDER BY id",
                                   Q_IN(rules->process),
                                   Q_OUT(Q_INT(row.phase.id), Q_OPT(row.phase.parent),
                                         Q_TEXT(row.kind), Q_OPT(row.step), Q_INT(row.begin_seq),
                                         Q_OPT(row.end_seq), Q_TEXT(row.ended)));
    while (query_next(&query))
        query_fail(&query, take_phase(rules, &row));
    return query_end(&query);
}

uint32_t category_phase_index(const struct category_rules *rules, int64_t id)
{
    size_t low, count = rules->phase_count;
    /* Mostly none is missing. */
    uint64_t guess = count ? (uint64_t)id - (uint64_t)rules->phases[0].id : 0;
    if (guess < count && rules->phases[guess].id == id)
        return (uint32_t)guess;
    SEARCH_FIRST(low, 0, count, rules->phases[low].id < id);
    return low < count && rules->phases[low].id == id ? (uint32_t)low : CATEGORY_NO_PHASE;
}

static int read_stretches(struct category_rules *rules)
{
    int64_t begin_seq, phase;
    struct query query = query_ask(
        rules->db, "SELECT begin_seq, phase FROM stretch WHERE process = ? ORDER BY begin_seq",
        Q_IN(rules->process), Q_OUT(Q_INT(begin_seq), Q_INT(phase)));
    while (query_next(&query)) {
        if (MEM_GROW(rules->stretches, rules->stretch_cap, rules->stretch_count + 1))
            rules->stretches[rules->stretch_count++] =
                (struct category_stretch){begin_seq, category_phase_index(rules, phase)};
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

/* The role of a phase needs that of its parent, which mostly has the lower id: then one pass does.
 * What hangs on no root has none. Returns how many it found, and leaves *left without. */
static size_t find_roles_once(struct category_rules *rules, size_t *left)
{
    size_t found = 0;
    *left = 0;
    for (size_t i = 0; i < rules->phase_count; i++) {
        struct category_phase *phase = &rules->phases[i];
        if (phase->role != PHASE_KIND_NONE)
            continue;
        bool root = phase->parent == CATEGORY_UNKNOWN;
        uint32_t parent = root ? CATEGORY_NO_PHASE : category_phase_index(rules, phase->parent);
        uint16_t around =
            parent == CATEGORY_NO_PHASE ? PHASE_KIND_NONE : rules->phases[parent].role;
        if (root || around != PHASE_KIND_NONE) {
            phase->role = phase->kind == PHASE_KIND_USER && !root ? around : phase->kind;
            found++;
        } else {
            *left += 1;
        }
    }
    return found;
}

static void close_bounds(struct category_rules *rules)
{
    for (size_t i = 0; i < rules->step_count; i++) {
        struct category_bounds *bounds = &rules->steps[i];
        if (bounds->open)
            bounds->end_seq = CATEGORY_UNKNOWN;
        if (bounds->backward_open)
            bounds->backward_end_seq = CATEGORY_UNKNOWN;
    }
    if (rules->run_open)
        rules->last_seq = CATEGORY_UNKNOWN;
}

static const char ended_sql[] =
    "SELECT coalesce(ended = 'exit' AND coalesce(exit_code, 0) = 0, 0) AS ended_well"
    "  FROM process WHERE id = ?1";

static int read_rules(struct db *db, int64_t process, struct category_rules *rules)
{
    rules->db = db;
    rules->process = process;
    rules->first_seq = rules->optimizer_step = rules->first_step = INT64_MAX;
    rules->last_seq = rules->last_step = rules->early_id = CATEGORY_UNKNOWN;
    int err = read_phases(rules);
    if (err == 0)
        err = read_stretches(rules);
    if (err == 0)
        err = query_read(db, ended_sql, Q_IN(process), Q_OUT(Q_INT(rules->ended_well)));
    if (err == 0)
        err = category_library_read(db, process, &rules->library);
    if (err == 0)
        err = category_sharing_read(db, process, &rules->sharing);
    close_bounds(rules);
    if (err == 0 && rules->step_count)
        err = category_copies_read(db, process, rules->first_seq, rules->last_seq, &rules->copies);
    for (size_t left = 1; left && err == 0 && find_roles_once(rules, &left);)
        ;
    return err;
}

static void drop(void *thing)
{
    struct category_rules *rules = thing;
    for (size_t i = 0; i < rules->kind_count; i++)
        mem_free(rules->kinds[i]);
    for (size_t i = 0; i < rules->text_count; i++)
        mem_free(rules->texts[i]);
    mem_free(rules->kinds);
    mem_free(rules->texts);
    mem_free(rules->phases);
    mem_free(rules->stretches);
    mem_free(rules->steps);
    category_copies_clear(&rules->copies);
    category_sharing_clear(&rules->sharing);
    map_clear(&rules->step_index);
    map_clear(&rules->tags);
    map_clear(&rules->text_index);
    mem_free(rules);
}

const struct category_rules *category_kept(struct db *db, int64_t process)
{
    const struct category_rules *rules = db_kept(db, drop);
    return rules && rules->process == process ? rules : NULL;
}

int category_load(struct db *db, int64_t process, struct category_rules **out)
{
    struct category_rules *rules = db_kept(db, drop);
    *out = NULL;
    if (!rules || rules->process != process) {
        if (!(rules = mem_alloc(1, sizeof *rules)))
            return ERR_NOMEM;
        int err = read_rules(db, process, rules);
        if (err < 0) {
            drop(rules);
            return err;
        }
        rules->kept = db_keep(db, rules, drop);
    }
    *out = rules;
    return 0;
}

void category_free(struct category_rules *rules)
{
    if (rules && !rules->kept)
        drop(rules);
}

bool category_is_valid(const struct category_rules *rules)
{
    for (size_t i = 0; i < rules->phase_count; i++) {
        const struct category_phase *phase = &rules->phases[i];
        if ((i && phase->id <= rules->phases[i - 1].id) ||
            (phase->step != CATEGORY_NO_STEP && phase->step >= rules->step_count) ||
            phase->kind >= PHASE_KIND_UNKNOWN + rules->kind_count)
            return false;
    }
    for (size_t i = 0; i < rules->stretch_count; i++) {
        const struct category_stretch *stretch = &rules->stretches[i];
        if ((i && stretch->begin_seq <= rules->stretches[i - 1].begin_seq) ||
            (stretch->phase != CATEGORY_NO_PHASE && stretch->phase >= rules->phase_count))
            return false;
    }
    if (rules->near_birth > rules->stretch_count || rules->near_end > rules->stretch_count)
        return false;
    for (size_t i = 0; i < rules->step_count; i++)
        if (map_get(&rules->step_index, (uint64_t)rules->steps[i].step) != i ||
            category_phase_index(rules, rules->steps[i].first_id) == CATEGORY_NO_PHASE ||
            category_phase_index(rules, rules->steps[i].last_id) == CATEGORY_NO_PHASE)
            return false;
    return rules->text_count == rules->text_index.count;
}
