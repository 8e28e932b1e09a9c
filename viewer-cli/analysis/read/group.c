#include "group.h"

#include <stdlib.h>

#include "buf.h"
#include "error.h"
#include "mem.h"
#include "site_apart.h"

int64_t column_known(struct db_stmt *row, int at)
{
    return db_column_type(row, at) == DB_NULL ? GROUP_NONE : db_column_int(row, at);
}

bool column_copy(struct db_stmt *row, int at, char **out)
{
    *out = NULL;
    if (db_column_type(row, at) == DB_NULL)
        return true;
    const char *text = db_column_text(row, at);
    *out = mem_copy(text, (size_t)db_column_bytes(row, at));
    return *out != NULL;
}

bool column_given(struct db_stmt *row, int at, char **out)
{
    if (!column_copy(row, at, out))
        return false;
    if (!*out)
        *out = mem_copy("?", 1);
    return *out != NULL;
}

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

int site_names_prepare(struct db *db, struct db_stmt **out)
{
    return db_prepare(db, out,
                      "SELECT t.text, s.text FROM site_text t"
                      " JOIN site_short s ON s.site = t.site WHERE t.site = ?");
}

int site_names(struct db_stmt *stmt, int64_t site, char **name, char **shown)
{
    *name = *shown = NULL;
    if (site == GROUP_NONE)
        return 0;
    db_bind_int(stmt, 0, site);
    int err = db_step(stmt);
    if (err == DB_ROW && (!column_copy(stmt, 0, name) || !column_copy(stmt, 1, shown)))
        err = ERR_NOMEM;
    db_reset(stmt);
    return err < 0 ? err : 0;
}

int groups_name_sites(struct db *db, struct groups *groups, size_t most)
{
    struct db_stmt *stmt = NULL;
    int err = site_names_prepare(db, &stmt);
    for (size_t i = 0; i < groups->count && i < most && err == 0; i++)
        err = site_names(stmt, groups->groups[i].id, &groups->groups[i].name,
                         &groups->groups[i].shown);
    db_finalize(stmt);
    return err;
}

int groups_name_phases(struct db *db, struct groups *groups, size_t most)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, "SELECT name, step, kind, ordinal FROM phase WHERE id = ?");
    for (size_t i = 0; i < groups->count && i < most && err >= 0; i++) {
        struct group *group = &groups->groups[i];
        if (group->id == GROUP_NONE)
            continue;
        db_bind_int(stmt, 0, group->id);
        err = db_step(stmt);
        if (err == DB_ROW) {
            group->step = column_known(stmt, 1);
            group->ordinal = column_known(stmt, 3);
            if (!column_given(stmt, 0, &group->name) || !column_given(stmt, 2, &group->kind))
                err = ERR_NOMEM;
        }
        db_reset(stmt);
        if (err >= 0)
            err = phase_path(db, group->id, &group->shown);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
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
    struct db_stmt *stmt = NULL;
    struct buf path = {0};
    int err = db_prepare(db, &stmt, "SELECT name, parent FROM phase WHERE id = ?");
    for (int depth = 0; err >= 0 && phase != GROUP_NONE && depth < DEEPEST; depth++) {
        struct buf longer = {0};
        db_bind_int(stmt, 0, phase);
        err = db_step(stmt);
        if (err != DB_ROW)
            break;
        buf_text(&longer, db_column_text(stmt, 0));
        if (depth)
            buf_print(&longer, " > %s", buf_string(&path));
        phase = column_known(stmt, 1);
        db_reset(stmt);
        longer.broken = longer.broken || path.broken;
        buf_clear(&path);
        path = longer;
    }
    db_finalize(stmt);
    if (path.broken) {
        buf_clear(&path);
        return ERR_NOMEM;
    }
    *out = path.data;
    return err < 0 ? err : 0;
}
