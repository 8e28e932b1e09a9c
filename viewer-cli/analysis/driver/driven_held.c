/*
 * driven_held.c - who held what the driver gave: its pieces that lived at one moment, or at two,
 * summed in SQL by what they are and who called. What a pool keeps and has not handed out, and the
 * memory of graphs, are the driver's own: a group without a library each.
 */
#include <stdlib.h>
#include <string.h>

#include "driven.h"
#include "error.h"
#include "library.h"
#include "mem.h"

int64_t driven_change(const struct driven_group *group)
{
    return group->bytes - group->before_bytes;
}

#define LIVES(seq) "(m.seq <= " seq " AND (m.free_seq IS NULL OR m.free_seq > " seq "))"

/* ?3: the moment before, -1 if there is none; ?4: the moment. */
static const char pieces_sql[] =
    "SELECT m.kind, l.text, c.text, m.site, t.text,"
    "  coalesce(sum(CASE WHEN " LIVES("?3") " THEN m.size END), 0), sum(" LIVES(
        "?3") "),"
              "  coalesce(sum(CASE WHEN " LIVES("?4") " THEN m.size END), 0), sum(" LIVES(
                  "?4") ")"
                        " FROM driver_memory m LEFT JOIN string l ON l.id = m.library"
                        "  LEFT JOIN string c ON c.id = m.call LEFT JOIN site_short t ON t.site = "
                        "m.site"
                        " WHERE m.process = ?1 AND m.device = ?2"
                        "  AND m.kind IN ('device', 'array', 'physical', 'async')"
                        "  AND (" LIVES("?3") " OR " LIVES(
                            "?4") ")"
                                  " GROUP BY m.kind, m.library, m.call, m.site";

/* ---- groups ---- */

static bool is_same(const char *one, const char *other)
{
    return one == other || (one && other && strcmp(one, other) == 0);
}

static bool copy(const char *text, char **out)
{
    *out = text ? mem_copy(text, strlen(text)) : NULL;
    return !text || *out;
}

/* The group with these values, made if it is new: a library can have several files. */
static struct driven_group *group_of(struct driven_held *held, const char *kind,
                                     const char *library, const char *call, int64_t site,
                                     const char *shown)
{
    for (size_t i = 0; i < held->count; i++) {
        struct driven_group *group = &held->groups[i];
        if (group->site == site && is_same(group->kind, kind) && is_same(group->library, library) &&
            is_same(group->call, call))
            return group;
    }
    if (!MEM_GROW(held->groups, held->cap, held->count + 1))
        return NULL;
    struct driven_group *group = &held->groups[held->count++];
    *group = (struct driven_group){.site = site};
    return copy(kind, &group->kind) && copy(library, &group->library) && copy(call, &group->call) &&
                   copy(shown, &group->shown)
               ? group
               : NULL;
}

static void count_in(struct driven_held *held, struct driven_group *group, int64_t before,
                     int64_t bytes)
{
    group->before_bytes += before;
    group->bytes += bytes;
    held->before_bytes += before;
    held->bytes += bytes;
}

/* ---- reading ---- */

struct parts { /* handed out of pools, at both moments */
    int64_t before, now;
};

static int add_row(struct db_stmt *row, struct driven_held *held, struct parts *parts)
{
    char own[LIBRARY_TEXT];
    const char *text[5];
    const int texts[5] = {0, 1, 2, -1, 4};
    for (int i = 0; i < 5; i++) {
        bool known = texts[i] >= 0 && db_column_type(row, texts[i]) != DB_NULL;
        text[i] = known ? db_column_text(row, texts[i]) : NULL;
    }
    struct driven_group *group =
        group_of(held, text[0], library_name(text[1], own), text[2], column_known(row, 3), text[4]);
    if (!group)
        return ERR_NOMEM;
    int64_t before = db_column_int(row, 5), now = db_column_int(row, 7);
    count_in(held, group, before, now);
    group->before_pieces += db_column_int(row, 6);
    group->pieces += db_column_int(row, 8);
    if (strcmp(group->kind, "async") == 0) {
        parts->before += before;
        parts->now += now;
    }
    return 0;
}

static int read_pieces(struct db *db, const struct driven *driven, int64_t before, int64_t now,
                       struct driven_held *held, struct parts *parts)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, pieces_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, driven->process);
    db_bind_int(stmt, 1, driven->device);
    db_bind_int(stmt, 2, before);
    db_bind_int(stmt, 3, now);
    while ((err = db_step(stmt)) == DB_ROW)
        if ((err = add_row(stmt, held, parts)) < 0)
            break;
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int add_kept(struct driven_held *held, const char *kind, int64_t before, int64_t now)
{
    if (!before && !now)
        return 0;
    struct driven_group *group = group_of(held, kind, NULL, NULL, DRIVEN_NONE, NULL);
    if (!group)
        return ERR_NOMEM;
    count_in(held, group, before, now);
    return 0;
}

static int by_change(const void *one, const void *other)
{
    const struct driven_group *a = one, *b = other;
    int64_t first = llabs(driven_change(a)), second = llabs(driven_change(b));
    if (first != second)
        return first > second ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    int order = strcmp(a->library ? a->library : "", b->library ? b->library : "");
    return order ? order : strcmp(a->call ? a->call : "", b->call ? b->call : "");
}

int driven_held_read(struct db *db, const struct driven *driven, const struct driven_moment *before,
                     const struct driven_moment *moment, struct driven_held *out)
{
    const struct driven_moment none = {.seq = -1};
    struct parts parts = {0};
    *out = (struct driven_held){0};
    before = before ? before : &none;
    int err = read_pieces(db, driven, before->seq, moment->seq, out, &parts);
    if (err == 0)
        err = add_kept(out, "pool", before->point.pools - parts.before,
                       moment->point.pools - parts.now);
    if (err == 0)
        err = add_kept(out, "graph", before->point.graphs, moment->point.graphs);
    if (out->count)
        qsort(out->groups, out->count, sizeof *out->groups, by_change);
    return err;
}

void driven_held_clear(struct driven_held *held)
{
    for (size_t i = 0; i < held->count; i++) {
        mem_free(held->groups[i].kind);
        mem_free(held->groups[i].library);
        mem_free(held->groups[i].call);
        mem_free(held->groups[i].shown);
    }
    mem_free(held->groups);
    *held = (struct driven_held){0};
}

bool driven_held_is_valid(const struct driven_held *held)
{
    int64_t before = 0, now = 0;
    for (size_t i = 0; i < held->count; i++) {
        const struct driven_group *group = &held->groups[i];
        if (!group->kind || group->bytes < 0 || group->before_bytes < 0 ||
            (i && llabs(driven_change(group)) > llabs(driven_change(group - 1))))
            return false;
        before += group->before_bytes;
        now += group->bytes;
    }
    return before == held->before_bytes && now == held->bytes;
}
