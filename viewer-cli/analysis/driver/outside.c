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
#include "query.h"

#define PHYSICAL_KINDS "'device', 'array', 'physical'"

static const char told_sql[] =
    "SELECT EXISTS (SELECT 1 FROM driver_memory WHERE process = ?1 AND device = ?2) AS told";

static const char parts_sql[] = "SELECT l.text AS library, sum(m.size) AS bytes, count(*) AS pieces"
                                "  FROM driver_memory m"
                                "  LEFT JOIN string l ON l.id = m.library"
                                " WHERE m.process = ?1 AND m.device = ?2 AND m.seq <= ?3"
                                "   AND (m.free_seq IS NULL OR m.free_seq > ?3)"
                                "   AND m.heap IS NULL AND m.kind IN (" PHYSICAL_KINDS ")"
                                " GROUP BY m.library HAVING sum(m.size) > 0";

static const char managed_sql[] =
    "SELECT coalesce(sum(size), 0) AS managed FROM driver_memory"
    " WHERE process = ?1 AND device = ?2 AND seq <= ?3 AND (free_seq IS NULL OR free_seq > ?3)"
    "   AND kind = 'managed'";

static const char blind_sql[] =
    "SELECT coalesce(sum(min(coalesce(end_ns, ?4), ?4) - begin_ns), 0) AS blind_ns FROM gap"
    " WHERE process = ?1 AND lower(source) = 'cupti' AND begin_ns < ?4";

/* The sample of what is kept (?5) that was taken with the device's own at or before ?4: the last
 * one before the next of the device. Without samples of the device, the last one at that time. */
#define OF_DEVICE "u.what = 'device used' AND u.process = ?1 AND u.device = ?2"
#define KEPT                                                                                       \
    "(SELECT k.value FROM sample k WHERE k.what = ?5 AND k.process = ?1 AND k.device = ?2"         \
    "   AND k.at_ns < coalesce((SELECT min(u.at_ns) FROM sample u"                                 \
    "     WHERE " OF_DEVICE " AND u.at_ns > ?4), 9223372036854775807)"                             \
    "   AND (k.at_ns <= ?4 OR EXISTS (SELECT 1 FROM sample u WHERE " OF_DEVICE "))"                \
    " ORDER BY k.at_ns DESC, k.rowid DESC LIMIT 1)"

/* What is handed out of it, of kind ?6: behind the event ?3, and at the time ?4. */
#define HANDED_OUT(lives)                                                                          \
    "(SELECT coalesce(sum(m.size), 0) FROM driver_memory m"                                        \
    "  WHERE m.process = ?1 AND m.device = ?2 AND m.kind = ?6 AND " lives ")"
#define LIVES_BEHIND "m.seq <= ?3 AND (m.free_seq IS NULL OR m.free_seq > ?3)"
#define LIVES_AT "m.alloc_ns <= ?4 AND (m.life_ns IS NULL OR m.alloc_ns + m.life_ns > ?4)"

static const char kept_sql[] =
    "SELECT " KEPT " AS sampled, " HANDED_OUT(LIVES_BEHIND) " AS out, " HANDED_OUT(
        LIVES_AT) " AS was_out,"
                  " EXISTS (SELECT 1 FROM driver_memory WHERE process = ?1 AND device = ?2 AND "
                  "kind = ?6"
                  "         AND heap IS NOT NULL) AS owned,"
                  " (SELECT coalesce(sum(m.size), 0) FROM driver_memory m"
                  "   WHERE m.process = ?1 AND m.device = ?2 AND m.heap IS NOT NULL"
                  "     AND m.kind IN (" PHYSICAL_KINDS ") AND " LIVES_BEHIND ") AS owned_apart";

/* The first sample, less the memory of all owners that was told of at that time. Samples of a
 * device are the process's own, or nobody's: another process may call another device by this
 * number. */
static const char base_sql[] =
    "SELECT s.at_ns, s.value"
    "  - coalesce((SELECT sum(m.size) FROM driver_memory m WHERE m.process = ?1 AND m.device = ?2"
    "      AND m.kind IN (" PHYSICAL_KINDS ") AND m.alloc_ns <= s.at_ns"
    "      AND (m.life_ns IS NULL OR m.alloc_ns + m.life_ns > s.at_ns)), 0) AS bytes"
    "  FROM sample s"
    " WHERE s.what = ?5 AND (s.process = ?1 OR s.process IS NULL AND ?5 = 'device used')"
    "   AND s.device = ?2 AND s.at_ns <= ?4"
    " ORDER BY s.at_ns, s.rowid LIMIT 1";

/* Memory of all owners after the event, less what of it was there at the time ?4. */
static const char since_sql[] =
    "SELECT coalesce(sum(((seq <= ?3 AND (free_seq IS NULL OR free_seq > ?3))"
    "  - (alloc_ns <= ?4 AND (life_ns IS NULL OR alloc_ns + life_ns > ?4))) * size), 0) AS bytes"
    " FROM driver_memory WHERE process = ?1 AND device = ?2 AND kind IN (" PHYSICAL_KINDS ")";

struct place { /* the parameters, in their order */
    int64_t process, device, seq, at_ns;
};

/* One row with one number. */

/* ---- what is kept ---- */

static const struct kept_kind {
    const char *kind, *sample, *name;
    bool grows; /* it is at least what is handed out of it */
} kept_kinds[] = {
    {"async", "pool reserved", "stream-ordered pools", true},
    {"graph", "graph reserved", "memory of graphs", false}, /* of nodes that may never run */
};
enum { KEPT_KINDS = sizeof kept_kinds / sizeof *kept_kinds };

struct kept {
    int64_t sampled;     /* OUTSIDE_NONE */
    int64_t out;         /* handed out behind the event */
    int64_t was_out;     /* at the time */
    bool owned;          /* blocks lie in it */
    int64_t owned_apart; /* bytes of the allocator's besides */
};

static int read_kept(struct db *db, const struct place *place, const struct kept_kind *kind,
                     struct kept *out)
{
    return query_read(
        db, kept_sql,
        Q_IN(place->process, place->device, place->seq, place->at_ns, kind->sample, kind->kind),
        Q_OUT(Q_OPT(out->sampled), Q_INT(out->out), Q_INT(out->was_out), Q_INT(out->owned),
              Q_INT(out->owned_apart)));
}

/* As the sample has it, and behind the event. */
static int64_t kept_then(const struct kept *kept)
{
    return kept->sampled == OUTSIDE_NONE ? kept->was_out : kept->sampled;
}

static int64_t kept_now(const struct kept *kept, const struct kept_kind *kind)
{
    if (kept->sampled == OUTSIDE_NONE)
        return kept->out;
    return kind->grows && kept->out > kept->sampled ? kept->out : kept->sampled;
}

/* All that is kept at a sample of the device. */
static int read_all_kept(struct db *db, const struct place *place, int64_t *bytes)
{
    int err = 0;
    *bytes = 0;
    for (size_t i = 0; i < KEPT_KINDS && err == 0; i++) {
        struct kept kept = {0};
        err = read_kept(db, place, &kept_kinds[i], &kept);
        *bytes += kept_then(&kept);
    }
    return err;
}

static int read_base(struct db *db, const struct place *place, const char *what,
                     struct outside_base *base)
{
    int64_t kept = 0;
    *base = (struct outside_base){OUTSIDE_NONE, OUTSIDE_NONE};
    int err = query_first(db, base_sql,
                          Q_IN(place->process, place->device, place->seq, place->at_ns, what),
                          Q_OUT(Q_INT(base->at_ns), Q_INT(base->bytes)));
    if (err != DB_ROW)
        return err < 0 ? err : 0;
    const struct place first = {place->process, place->device, place->seq, base->at_ns};
    err = read_all_kept(db, &first, &kept);
    base->bytes -= kept;
    return err;
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
    const char *library;
    int64_t bytes, pieces;
    struct query query = query_ask(db, parts_sql, Q_IN(place->process, place->device, place->seq),
                                   Q_OUT(Q_NTEXT(library), Q_INT(bytes), Q_INT(pieces)));
    while (query_next(&query))
        if (!add_part(parts, library_name(library, own), bytes, pieces))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

/* Nothing where blocks lie in it: then the allocator's reserved has it. */
static int add_kept(struct db *db, const struct place *place, const struct kept_kind *kind,
                    struct parts *parts)
{
    struct kept kept = {0};
    int err = read_kept(db, place, kind, &kept);
    int64_t bytes = kept.owned ? 0 : kept_now(&kept, kind);
    if (err == 0 && bytes > 0 && !add_part(parts, kind->name, bytes, 0))
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
    *out = (struct outside){.process = {OUTSIDE_NONE, OUTSIDE_NONE},
                            .device = {OUTSIDE_NONE, OUTSIDE_NONE}};
    int err = query_read(db, told_sql, Q_IN(process, device), Q_OUT(Q_INT(out->told)));
    if (err < 0 || !out->told)
        return err;
    err = read_libraries(db, &place, &parts);
    for (size_t i = 0; i < KEPT_KINDS && err == 0; i++)
        err = add_kept(db, &place, &kept_kinds[i], &parts);
    if (err == 0)
        err = query_read(db, managed_sql, Q_IN(process, device, seq), Q_OUT(Q_INT(out->managed)));
    if (err == 0)
        err = query_read(db, blind_sql, Q_IN(process, device, seq, at_ns),
                         Q_OUT(Q_INT(out->blind_ns)));
    if (err == 0)
        err = read_base(db, &place, "process used", &out->process);
    if (err == 0)
        err = read_base(db, &place, "device used", &out->device);
    keep_largest(&parts, out);
    mem_free(parts.at);
    return err;
}

/* The allocator's own word on its pool is of the moment itself. */
static int64_t grown(const struct kept *kept, const struct kept_kind *kind, int64_t reserved)
{
    int64_t now = kept_now(kept, kind);
    int64_t told = reserved == OUTSIDE_NONE ? OUTSIDE_NONE : reserved - kept->owned_apart;
    if (kept->owned && kept->sampled != OUTSIDE_NONE && told >= kept->out)
        now = told;
    return now - kept_then(kept);
}

int outside_since(struct db *db, int64_t process, int64_t device, int64_t seq, int64_t from_ns,
                  int64_t reserved, int64_t *bytes)
{
    const struct place place = {process, device, seq, from_ns};
    *bytes = 0;
    int err = query_read(db, since_sql, Q_IN(process, device, seq, from_ns), Q_OUT(Q_INT(*bytes)));
    for (size_t i = 0; i < KEPT_KINDS && err == 0; i++) {
        struct kept kept = {0};
        err = read_kept(db, &place, &kept_kinds[i], &kept);
        *bytes += grown(&kept, &kept_kinds[i], reserved);
    }
    return err;
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
