#include "skew.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"

enum { PLACES = 6 };

/* ---- spreads ---- */

static int by_value(const void *a, const void *b)
{
    const struct skew_value *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

struct skew_spread skew_spread_of(struct skew_value *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    struct skew_spread spread = {
        .most = values[count - 1], .median = values[(count - 1) / 2], .least = values[0]};
    /* Of several that are equal the first rank. */
    for (size_t i = count - 1; i > 0 && values[i - 1].value == spread.most.value; i--)
        spread.most = values[i - 1];
    return spread;
}

int64_t skew_excess(const struct skew_spread *spread)
{
    return spread->most.value - spread->median.value;
}

bool skew_is_valid(const struct skew_row *row, size_t ranks)
{
    for (int i = 0; i < SKEW_FIGURES; i++) {
        const struct skew_spread *spread = &row->spreads[i];
        if (spread->least.value > spread->median.value ||
            spread->median.value > spread->most.value || spread->most.rank >= ranks)
            return false;
    }
    return row->count >= 1 && row->count <= ranks;
}

/* ---- one rank ---- */

struct cursor { /* the next phase of a rank */
    struct query query;
    struct query_place places[PLACES + 1];
    int64_t step, ordinal, peak, allocated, ns;
    const char *name;
    bool any;
};

static const char phases_sql[] =
    "SELECT ph.step, ph.ordinal, ph.name, pd.peak_allocated AS peak, pd.allocated,"
    "       ph.end_ns - ph.begin_ns AS ns"
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?2"
    " WHERE ph.process = ?1 AND ph.step BETWEEN ?3 AND ?4 AND ph.end_ns IS NOT NULL"
    "   AND ph.domain IS NULL AND ph.scope = 'process'"
    "   AND (?5 IS NULL OR ph.name = ?5 OR ph.kind = ?5) ORDER BY ph.id";

static void begin(struct db *db, struct cursor *c, const struct skew_rank *rank,
                  const struct skew_wish *wish)
{
    const struct query_place places[] = {Q_INT(c->step),     Q_INT(c->ordinal),   Q_TEXT(c->name),
                                         Q_INT(c->peak),     Q_INT(c->allocated), Q_INT(c->ns),
                                         {.type = QUERY_END}};
    memcpy(c->places, places, sizeof places);
    struct query_value phase = wish->phase ? query_text(wish->phase) : query_opt(QUERY_NONE);
    c->query = query_ask(
        db, phases_sql, Q_IN(rank->process, rank->device, wish->first_step, wish->last_step, phase),
        c->places);
    c->any = query_next(&c->query);
}

/* ---- one step of all ranks ---- */

struct entry { /* a phase of a rank */
    char *name;
    int64_t ordinal;
    size_t place, rank; /* in the step of its rank */
    int64_t figures[SKEW_FIGURES];
};

struct group { /* entries of one phase */
    size_t first, count, place;
};

struct step {
    int64_t number;
    struct entry *entries;
    size_t count, cap;
    struct group *groups;
    size_t group_count, group_cap;
    struct skew_value *values; /* as many as there are ranks */
};

static int by_phase(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0)
        order = (x->ordinal > y->ordinal) - (x->ordinal < y->ordinal);
    return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static int by_place(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    int order = (x->place > y->place) - (x->place < y->place);
    return order ? order : (x->first > y->first) - (x->first < y->first);
}

static int add_entry(struct step *step, const struct cursor *c, size_t rank, size_t place)
{
    struct entry entry = {.name = mem_copy(c->name, strlen(c->name)),
                          .ordinal = c->ordinal,
                          .place = place,
                          .rank = rank,
                          .figures = {c->peak, c->allocated, c->ns}};
    if (!entry.name || !MEM_GROW(step->entries, step->cap, step->count + 1)) {
        mem_free(entry.name);
        return ERR_NOMEM;
    }
    step->entries[step->count++] = entry;
    return 0;
}

static void clear_entries(struct step *step)
{
    for (size_t i = 0; i < step->count; i++)
        mem_free(step->entries[i].name);
    step->count = step->group_count = 0;
}

static bool is_same(const struct entry *a, const struct entry *b)
{
    return strcmp(a->name, b->name) == 0 && a->ordinal == b->ordinal;
}

/* Of one rank that has a phase twice under one name and ordinal the first counts. */
static int find_groups(struct step *step)
{
    qsort(step->entries, step->count, sizeof *step->entries, by_phase);
    for (size_t i = 0; i < step->count; i++) {
        struct entry *entry = &step->entries[i];
        if (i && is_same(&step->entries[i - 1], entry)) {
            struct group *group = &step->groups[step->group_count - 1];
            group->count++;
            group->place = entry->place < group->place ? entry->place : group->place;
            continue;
        }
        if (!MEM_GROW(step->groups, step->group_cap, step->group_count + 1))
            return ERR_NOMEM;
        step->groups[step->group_count++] = (struct group){i, 1, entry->place};
    }
    if (step->group_count)
        qsort(step->groups, step->group_count, sizeof *step->groups, by_place);
    return 0;
}

static void fill_row(const struct step *step, const struct group *group, struct skew_row *row)
{
    const struct entry *entries = &step->entries[group->first];
    *row =
        (struct skew_row){.name = entries->name, .step = step->number, .ordinal = entries->ordinal};
    for (int figure = 0; figure < SKEW_FIGURES; figure++) {
        size_t count = 0;
        for (size_t i = 0; i < group->count; i++)
            if (!i || entries[i].rank != entries[i - 1].rank)
                step->values[count++] =
                    (struct skew_value){entries[i].figures[figure], entries[i].rank};
        row->count = count;
        row->spreads[figure] = skew_spread_of(step->values, count);
    }
}

static int take_step(struct step *step, int (*take)(void *self, const struct skew_row *row),
                     void *self)
{
    struct skew_row row;
    int err = find_groups(step);
    for (size_t i = 0; i < step->group_count && err == 0; i++) {
        fill_row(step, &step->groups[i], &row);
        if (row.count > 1)
            err = take(self, &row);
    }
    clear_entries(step);
    return err;
}

/* ---- all steps ---- */

static bool next_step(const struct cursor *cursors, size_t count, int64_t *number)
{
    bool any = false;
    for (size_t i = 0; i < count; i++)
        if (cursors[i].any && (!any || cursors[i].step < *number)) {
            *number = cursors[i].step;
            any = true;
        }
    return any;
}

static int read_step(struct step *step, struct cursor *cursors, size_t count)
{
    int err = 0;
    for (size_t i = 0; i < count; i++) {
        struct cursor *c = &cursors[i];
        for (size_t place = 0; err == 0 && c->any && c->step <= step->number; place++) {
            err = add_entry(step, c, i, place);
            c->any = err == 0 && query_next(&c->query);
        }
    }
    return err;
}

int skew_read(struct db *db, const struct skew_rank *ranks, size_t count,
              const struct skew_wish *wish, int (*take)(void *self, const struct skew_row *row),
              void *self)
{
    struct cursor *cursors = mem_alloc(count + 1, sizeof *cursors);
    struct step step = {.values = mem_alloc(count + 1, sizeof *step.values)};
    int err = cursors && step.values ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < count && err == 0; i++)
        begin(db, &cursors[i], &ranks[i], wish);
    while (err == 0 && next_step(cursors, count, &step.number)) {
        err = read_step(&step, cursors, count);
        if (err == 0)
            err = take_step(&step, take, self);
    }
    for (size_t i = 0; cursors && i < count; i++) {
        int ended =
            cursors[i].query.stmt || cursors[i].query.err ? query_end(&cursors[i].query) : 0;
        err = err == 0 && ended < 0 ? ended : err;
    }
    clear_entries(&step);
    mem_free(step.entries);
    mem_free(step.groups);
    mem_free(step.values);
    mem_free(cursors);
    return err;
}
