/*
 * The pieces that lived are summed by library in SQL, then by what people call the libraries here:
 * libcublas and libcublasLt are one. The largest are kept, the rest is one part.
 */
#include "outside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"

#define PHYSICAL_KINDS "'device', 'array', 'physical'"

static const char told_sql[] =
    "SELECT EXISTS (SELECT 1 FROM driver_memory WHERE process = ?1 AND device = ?2)";

static const char parts_sql[] = "SELECT l.text, sum(m.size), count(*) FROM driver_memory m"
                                "  LEFT JOIN string l ON l.id = m.library"
                                " WHERE m.process = ?1 AND m.device = ?2 AND m.seq <= ?3"
                                "   AND (m.free_seq IS NULL OR m.free_seq > ?3)"
                                "   AND m.heap IS NULL AND m.kind IN (" PHYSICAL_KINDS ")"
                                " GROUP BY m.library HAVING sum(m.size) > 0";

static const char managed_sql[] =
    "SELECT coalesce(sum(size), 0) FROM driver_memory"
    " WHERE process = ?1 AND device = ?2 AND seq <= ?3 AND (free_seq IS NULL OR free_seq > ?3)"
    "   AND kind = 'managed'";

static const char blind_sql[] =
    "SELECT coalesce(sum(min(coalesce(end_ns, ?4), ?4) - begin_ns), 0) FROM gap"
    " WHERE process = ?1 AND lower(source) = 'cupti' AND begin_ns < ?4";

/* What is kept for parts of pools, and of graphs: the sample, or what is handed out of it. Nothing
 * where blocks lie in it: then the allocator's reserved has it. */
static const char kept_sql[] =
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM driver_memory WHERE process = ?1 AND device = ?2"
    "                         AND kind = ?5 AND heap IS NOT NULL) THEN 0"
    " ELSE coalesce("
    "  (SELECT value FROM sample WHERE what = ?6 AND process = ?1 AND device = ?2 AND at_ns <= ?4"
    "    ORDER BY at_ns DESC, rowid DESC LIMIT 1),"
    "  (SELECT sum(size) FROM driver_memory WHERE process = ?1 AND device = ?2 AND kind = ?5"
    "    AND seq <= ?3 AND (free_seq IS NULL OR free_seq > ?3)), 0) END";

/* The first sample, less what was told of at that time: memory of all owners, the driver's pools
 * and graphs, which are sampled in the same millisecond. Samples of a device are the process's own,
 * or nobody's: another process may call another device by this number. */
static const char base_sql[] =
    "SELECT s.at_ns, s.value"
    "  - coalesce((SELECT sum(m.size) FROM driver_memory m WHERE m.process = ?1 AND m.device = ?2"
    "      AND m.kind IN (" PHYSICAL_KINDS ") AND m.alloc_ns <= s.at_ns"
    "      AND (m.life_ns IS NULL OR m.alloc_ns + m.life_ns > s.at_ns)), 0)"
    "  - coalesce((SELECT sum(k.value) FROM sample k WHERE k.rowid IN ("
    "      SELECT max(rowid) FROM sample WHERE what IN ('pool reserved', 'graph reserved')"
    "        AND process = ?1 AND device = ?2 AND at_ns < s.at_ns + 1000000 GROUP BY what)), 0)"
    "  FROM sample s"
    " WHERE s.what = ?6 AND (s.process = ?1 OR s.process IS NULL AND ?6 = 'device used')"
    "   AND s.device = ?2 AND s.at_ns <= ?4"
    " ORDER BY s.at_ns, s.rowid LIMIT 1";

/* Memory of all owners after the event, less what of it was there at the time ?4. */
static const char since_sql[] =
    "SELECT coalesce(sum(((seq <= ?3 AND (free_seq IS NULL OR free_seq > ?3))"
    "  - (alloc_ns <= ?4 AND (life_ns IS NULL OR alloc_ns + life_ns > ?4))) * size), 0)"
    " FROM driver_memory WHERE process = ?1 AND device = ?2 AND kind IN (" PHYSICAL_KINDS ")";

struct place { /* the parameters, in their order */
    int64_t process, device, seq, at_ns;
};

static int prepare(struct db *db, struct db_stmt **stmt, const char *sql, const struct place *place,
                   int count)
{
    const int64_t numbers[] = {place->process, place->device, place->seq, place->at_ns};
    int err = db_prepare(db, stmt, sql);
    for (int i = 0; i < count && err >= 0; i++)
        db_bind_int(*stmt, i, numbers[i]);
    return err;
}

/* One row with one number. */
static int read_number(struct db *db, const char *sql, const struct place *place, int count,
                       const char *kind, const char *what, int64_t *value)
{
    struct db_stmt *stmt = NULL;
    int err = prepare(db, &stmt, sql, place, count);
    if (err < 0)
        return err;
    if (kind)
        db_bind_text(stmt, 4, kind, -1);
    if (what)
        db_bind_text(stmt, 5, what, -1);
    err = db_step(stmt);
    *value = err == DB_ROW ? db_column_int(stmt, 0) : 0;
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_base(struct db *db, const struct place *place, const char *what,
                     struct outside_base *base)
{
    struct db_stmt *stmt = NULL;
    *base = (struct outside_base){OUTSIDE_NONE, OUTSIDE_NONE};
    int err = prepare(db, &stmt, base_sql, place, 4);
    if (err < 0)
        return err;
    db_bind_text(stmt, 5, what, -1);
    err = db_step(stmt);
    if (err == DB_ROW)
        *base = (struct outside_base){db_column_int(stmt, 1), db_column_int(stmt, 0)};
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* ---- parts ---- */

struct parts { /* all of them */
    struct outside_part *at;
    size_t count, cap;
};

static bool add_part(struct parts *parts, const char *name, int64_t bytes, int64_t pieces)
{
    size_t i = 0;
    while (i < parts->count && strcmp(parts->at[i].name, name) != 0)
        i++;
    if (i == parts->count) {
        if (!MEM_GROW(parts->at, parts->cap, parts->count + 1))
            return false;
        parts->at[i] = (struct outside_part){.bytes = 0};
        snprintf(parts->at[i].name, sizeof parts->at[i].name, "%s", name);
        parts->count++;
    }
    parts->at[i].bytes += bytes;
    parts->at[i].pieces += pieces;
    return true;
}

static int read_libraries(struct db *db, const struct place *place, struct parts *parts)
{
    char own[LIBRARY_TEXT];
    struct db_stmt *stmt = NULL;
    int err = prepare(db, &stmt, parts_sql, place, 3);
    while (err >= 0 && (err = db_step(stmt)) == DB_ROW) {
        bool known = db_column_type(stmt, 0) != DB_NULL;
        const char *name = library_name(known ? db_column_text(stmt, 0) : NULL, own);
        if (!add_part(parts, name, db_column_int(stmt, 1), db_column_int(stmt, 2)))
            err = ERR_NOMEM;
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_kept(struct db *db, const struct place *place, const char *kind, const char *what,
                     const char *name, struct parts *parts)
{
    int64_t bytes;
    int err = read_number(db, kept_sql, place, 4, kind, what, &bytes);
    if (err == 0 && bytes > 0 && !add_part(parts, name, bytes, 0))
        err = ERR_NOMEM;
    return err;
}

static int by_bytes(const void *one, const void *other)
{
    const struct outside_part *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void keep_largest(const struct parts *parts, struct outside *out)
{
    if (parts->count)
        qsort(parts->at, parts->count, sizeof *parts->at, by_bytes);
    for (size_t i = 0; i < parts->count; i++) {
        if (out->count < OUTSIDE_PARTS) {
            out->parts[out->count++] = parts->at[i];
            continue;
        }
        struct outside_part *rest = &out->parts[OUTSIDE_PARTS - 1];
        snprintf(rest->name, sizeof rest->name, "%s", "other libraries");
        rest->bytes += parts->at[i].bytes;
        rest->pieces += parts->at[i].pieces;
    }
}

int outside_read(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t at_ns,
                 struct outside *out)
{
    const struct place place = {process, device, seq, at_ns};
    struct parts parts = {0};
    int64_t told = 0;
    *out = (struct outside){.process = {OUTSIDE_NONE, OUTSIDE_NONE},
                            .device = {OUTSIDE_NONE, OUTSIDE_NONE}};
    int err = read_number(db, told_sql, &place, 2, NULL, NULL, &told);
    if (err < 0 || !told)
        return err;
    out->told = true;
    err = read_libraries(db, &place, &parts);
    if (err == 0)
        err = read_kept(db, &place, "async", "pool reserved", "stream-ordered pools", &parts);
    if (err == 0)
        err = read_kept(db, &place, "graph", "graph reserved", "memory of graphs", &parts);
    if (err == 0)
        err = read_number(db, managed_sql, &place, 3, NULL, NULL, &out->managed);
    if (err == 0)
        err = read_number(db, blind_sql, &place, 4, NULL, NULL, &out->blind_ns);
    if (err == 0)
        err = read_base(db, &place, "process used", &out->process);
    if (err == 0)
        err = read_base(db, &place, "device used", &out->device);
    keep_largest(&parts, out);
    mem_free(parts.at);
    return err;
}

int outside_since(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t from_ns,
                  int64_t *bytes)
{
    const struct place place = {process, device, seq, from_ns};
    return read_number(db, since_sql, &place, 4, NULL, NULL, bytes);
}

bool outside_is_valid(const struct outside *outside)
{
    size_t count = outside->count;
    if (count > OUTSIDE_PARTS || (!outside->told && (count || outside->managed)))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct outside_part *part = &outside->parts[i];
        bool rest = i == OUTSIDE_PARTS - 1;
        if (part->bytes <= 0 || !part->name[0] ||
            (i && !rest && outside->parts[i - 1].bytes < part->bytes))
            return false;
        for (size_t k = 0; k < i; k++)
            if (strcmp(outside->parts[k].name, part->name) == 0)
                return false;
    }
    return true;
}
