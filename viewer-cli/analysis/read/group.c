#include "group.h"

#include <stdlib.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "phase_kind.h"
#include "query.h"
#include "site_apart.h"

static struct group *new_group(struct groups *groups, int64_t id)
{
    if (!MEM_GROW(groups->groups, groups->cap, groups->count + 1))
        return NULL;
    struct group *group = &groups->groups[groups->count++];
    *group = (struct group){.id = id, .step = GROUP_NONE};
    return group;
}

struct group *groups_of(struct groups *groups, int64_t id)
{
    uint64_t place = map_get(&groups->index, (uint64_t)id);
    if (place != MAP_NONE)
        return &groups->groups[place];
    if (!map_put(&groups->index, (uint64_t)id, groups->count, NULL))
        return NULL;
    return new_group(groups, id);
}

static int by_size(const void *one, const void *other)
{
    const struct group *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->id < b->id ? -1 : a->id > b->id;
}

void groups_sort(struct groups *groups)
{
    map_clear(&groups->index);
    groups->sorted = true;
    if (groups->count)
        qsort(groups->groups, groups->count, sizeof *groups->groups, by_size);
}

int site_names(struct db *db, int64_t site, char **name, char **shown)
{
    *name = *shown = NULL;
    if (site == GROUP_NONE)
        return 0;
    return query_read(db,
                      "SELECT t.text AS name, s.text AS shown FROM site_text t"
                      " JOIN site_short s ON s.site = t.site WHERE t.site = ?",
                      Q_IN(site), Q_OUT(Q_COPY(*name), Q_COPY(*shown)));
}

int groups_name_sites(struct db *db, struct groups *groups, size_t most)
{
    int err = 0;
    for (size_t i = 0; i < groups->count && i < most && err == 0; i++)
        err =
            site_names(db, groups->groups[i].id, &groups->groups[i].name, &groups->groups[i].shown);
    return err;
}

static int name_phase(struct db *db, struct group *group)
{
    int err = query_read(
        db,
        "SELECT coalesce(name, '?') AS name, step, coalesce(kind, '?') AS kind,"
        " ordinal FROM phase WHERE id = ?",
        Q_IN(group->id),
        Q_OUT(Q_COPY(group->name), Q_OPT(group->step), Q_COPY(group->kind), Q_OPT(group->ordinal)));
    group->between = phase_kind_from(group->kind) == PHASE_KIND_OTHER;
    return err < 0 ? err : phase_path(db, group->id, &group->shown);
}

int groups_name_phases(struct db *db, struct groups *groups, size_t most)
{
    int err = 0;
    for (size_t i = 0; i < groups->count && i < most && err == 0; i++)
        if (groups->groups[i].id != GROUP_NONE)
            err = name_phase(db, &groups->groups[i]);
    return err;
}

int groups_tell_apart(struct db *db, struct groups *groups, size_t most)
{
    size_t count = groups->count < most ? groups->count : most;
    struct site_row *rows = mem_alloc(count + 1, sizeof *rows);
    for (size_t i = 0; i < count && rows; i++)
        rows[i] = (struct site_row){groups->groups[i].id, 0, &groups->groups[i].shown};
    int err = rows ? sites_tell_apart(db, rows, count) : ERR_NOMEM;
    mem_free(rows);
    return err;
}

void groups_clear(struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        mem_free(groups->groups[i].name);
        mem_free(groups->groups[i].kind);
        mem_free(groups->groups[i].shown);
    }
    mem_free(groups->groups);
    map_clear(&groups->index);
    *groups = (struct groups){0};
}

bool groups_is_valid(const struct groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        const struct group *group = &groups->groups[i];
        if (groups->sorted && i && group->bytes > groups->groups[i - 1].bytes)
            return false;
        if (!groups->sorted && group->id != GROUP_NONE &&
            map_get(&groups->index, (uint64_t)group->id) != i)
            return false;
    }
    return true;
}

enum { DEEPEST = 64 };

/* From the inside out; a phase that is deeper than anybody nests shows its inner names. */
int phase_path(struct db *db, int64_t phase, char **out)
{
    struct buf path = {0};
    const char *name;
    int64_t parent = phase;
    struct query query = query_ask(db, "SELECT name, parent FROM phase WHERE id = ?", Q_IN(phase),
                                   Q_OUT(Q_TEXT(name), Q_OPT(parent)));
    for (int depth = 0; parent != QUERY_NONE && depth < DEEPEST && query_next(&query); depth++) {
        struct buf longer = {0};
        buf_text(&longer, name);
        if (depth)
            buf_print(&longer, " > %s", buf_string(&path));
        longer.broken = longer.broken || path.broken;
        buf_clear(&path);
        path = longer;
        query_again(&query, Q_IN(parent));
    }
    int err = query_end(&query);
    if (path.broken) {
        buf_clear(&path);
        return ERR_NOMEM;
    }
    *out = path.data;
    return err;
}
