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
#include "query.h"

int64_t driven_change(const struct driven_group *group)
{
    return group->bytes - group->before_bytes;
}

const char *driven_kind_name(enum driven_kind kind)
{
    static const char *const names[DRIVEN_KINDS] = {
        [DRIVEN_DEVICE] = "device", [DRIVEN_ARRAY] = "array", [DRIVEN_PHYSICAL] = "physical",
        [DRIVEN_ASYNC] = "async",   [DRIVEN_POOL] = "pool",   [DRIVEN_GRAPH] = "graph",
    };
    return names[kind];
}

#define LIVES(seq) "(m.seq <= " seq " AND (m.free_seq IS NULL OR m.free_seq > " seq "))"

/* ?3: the moment before, -1 if there is none; ?4: the moment. */
static const char pieces_sql[] =
    "SELECT m.kind, l.text AS library, c.text AS call, m.site, t.text AS shown,"
    "  coalesce(sum(CASE WHEN " LIVES(
        "?3") " THEN m.size END), 0) AS before,"
              "  sum(" LIVES(
                  "?3") ") AS before_pieces,"
                        "  coalesce(sum(CASE WHEN " LIVES(
                            "?4") " THEN m.size END), 0) AS now,"
                                  "  sum(" LIVES(
                                      "?4") ") AS pieces"
                                            " FROM driver_memory m LEFT JOIN string l ON l.id = "
                                            "m.library"
                                            "  LEFT JOIN string c ON c.id = m.call LEFT JOIN "
                                            "site_short t ON t.site = m.site"
                                            " WHERE m.process = ?1 AND m.device = ?2 AND m.kind IN "
                                            "('device', 'array', 'physical', 'async')"
                                            "  AND (" LIVES("?3") " OR " LIVES(
                                                "?4") ")"
                                                      " GROUP BY m.kind, m.library, m.call, m.site";

struct row {
    const char *kind, *library, *call, *shown;
    int64_t site, before, before_pieces, now, pieces;
};

/* ---- groups ---- */

/* Of a row: it has one of the first four. */
static enum driven_kind kind_of(const char *text)
{
    enum driven_kind kind = DRIVEN_DEVICE;
    while (kind < DRIVEN_ASYNC && strcmp(driven_kind_name(kind), text) != 0)
        kind++;
    return kind;
}

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
static struct driven_group *group_of(struct driven_held *held, enum driven_kind kind,
                                     const char *library, const char *call, int64_t site,
                                     const char *shown)
{
    for (size_t i = 0; i < held->count; i++) {
        struct driven_group *group = &held->groups[i];
        if (group->site == site && group->kind == kind && is_same(group->library, library) &&
            is_same(group->call, call))
            return group;
    }
    if (!MEM_GROW(held->groups, held->cap, held->count + 1))
        return NULL;
    struct driven_group *group = &held->groups[held->count++];
    *group = (struct driven_group){.kind = kind, .site = site};
    return copy(library, &group->library) && copy(call, &group->call) && copy(shown, &group->shown)
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

static int add_row(const struct row *row, struct driven_held *held, struct parts *parts)
{
    char own[LIBRARY_TEXT];
    struct driven_group *group = group_of(held, kind_of(row->kind), library_name(row->library, own),
                                          row->call, row->site, row->shown);
    if (!group)
        return ERR_NOMEM;
    count_in(held, group, row->before, row->now);
    group->before_pieces += row->before_pieces;
    group->pieces += row->pieces;
    if (group->kind == DRIVEN_ASYNC) {
        parts->before += row->before;
        parts->now += row->now;
    }
    return 0;
}

static int read_pieces(struct db *db, const struct driven *driven, int64_t before, int64_t now,
                       struct driven_held *held, struct parts *parts)
{
    struct row row;
    struct query query =
        query_ask(db, pieces_sql, Q_IN(driven->process, driven->device, before, now),
                  Q_OUT(Q_TEXT(row.kind), Q_NTEXT(row.library), Q_NTEXT(row.call), Q_OPT(row.site),
                        Q_NTEXT(row.shown), Q_INT(row.before), Q_INT(row.before_pieces),
                        Q_INT(row.now), Q_INT(row.pieces)));
    while (query_next(&query))
        query_fail(&query, add_row(&row, held, parts));
    return query_end(&query);
}

static int add_kept(struct driven_held *held, enum driven_kind kind, int64_t before, int64_t now)
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
        err = add_kept(out, DRIVEN_POOL, before->point.pools - parts.before,
                       moment->point.pools - parts.now);
    if (err == 0)
        err = add_kept(out, DRIVEN_GRAPH, before->point.graphs, moment->point.graphs);
    if (out->count)
        qsort(out->groups, out->count, sizeof *out->groups, by_change);
    return err;
}

void driven_held_clear(struct driven_held *held)
{
    for (size_t i = 0; i < held->count; i++) {
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
        if (group->kind >= DRIVEN_KINDS || group->bytes < 0 || group->before_bytes < 0 ||
            (i && llabs(driven_change(group)) > llabs(driven_change(group - 1))))
            return false;
        before += group->before_bytes;
        now += group->bytes;
    }
    return before == held->before_bytes && now == held->bytes;
}
