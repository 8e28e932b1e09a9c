/*
 * The instant is the highest of the maxima that phase_device keeps, so no block is looked at to
 * find it. What lived then is the last keyframe before it and what was born since, less what was
 * freed: some thousand rows by their keys, whatever the length of the run. One pass over them makes
 * all groupings; names are looked up afterwards, once for each group.
 */
#include "peak.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "error.h"
#include "mem.h"

/* ---- the instant ---- */

/* A phase that only went down had its highest value as it began: before its first number, for that
 * of what is between phases can be a free. */
static const char highest_sql[] =
    "SELECT coalesce(pd.peak_seq, ph.begin_seq), coalesce(pd.peak_ns, ph.begin_ns),"
    "       pd.peak_allocated, pd.peak_reserved, ph.id, coalesce(pd.peak_seq, ph.begin_seq - 1)"
    "  FROM phase ph JOIN phase_device pd ON pd.phase = ph.id"
    " WHERE ph.process = ?1 AND pd.device = ?2 AND (?3 IS NULL OR ph.step BETWEEN ?3 AND ?4)"
    " ORDER BY pd.peak_allocated DESC, 1, ph.begin_seq DESC, ph.id DESC LIMIT 1";

/* The innermost phase at that event, or else the one that the maximum came from. */
static const char phase_sql[] =
    "SELECT ph.id, ph.name, ph.kind, ph.step, ph.begin_seq, pd.begin_allocated FROM phase ph"
    "  LEFT JOIN phase_device pd ON pd.phase = ph.id AND pd.device = ?4"
    " WHERE ph.id = coalesce("
    "  (SELECT phase FROM allocation_phase WHERE allocation = ?1),"
    "  (SELECT phase FROM stretch WHERE process = ?2 AND begin_seq <= ?1"
    "    ORDER BY begin_seq DESC LIMIT 1), ?3)";

static const char device_used_sql[] =
    "SELECT value FROM sample WHERE what = 'device used' AND device = ?1 AND at_ns <= ?2"
    " ORDER BY at_ns DESC LIMIT 1";

static int64_t int_or_none(struct db_stmt *row, int at)
{
    return db_column_type(row, at) == DB_NULL ? PEAK_NONE : db_column_int(row, at);
}

/* NULL for NULL; false without memory. */
static bool copy_text(struct db_stmt *row, int at, char **out)
{
    *out = NULL;
    if (db_column_type(row, at) == DB_NULL)
        return true;
    const char *text = db_column_text(row, at);
    *out = mem_copy(text, (size_t)db_column_bytes(row, at));
    return *out != NULL;
}

static int read_highest(struct db *db, int64_t first_step, int64_t last_step, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, highest_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->process);
    db_bind_int(stmt, 1, out->device);
    if (first_step == INT64_MIN && last_step == INT64_MAX) {
        db_bind_null(stmt, 2);
    } else {
        db_bind_int(stmt, 2, first_step);
        db_bind_int(stmt, 3, last_step);
    }
    err = db_step(stmt);
    if (err == DB_ROW) {
        out->found = true;
        out->seq = db_column_int(stmt, 0);
        out->at_ns = db_column_int(stmt, 1);
        out->allocated = db_column_int(stmt, 2);
        out->reserved = int_or_none(stmt, 3);
        out->phase = db_column_int(stmt, 4);
        out->living_seq = db_column_int(stmt, 5);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_phase(struct db *db, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, phase_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->seq);
    db_bind_int(stmt, 1, out->process);
    db_bind_int(stmt, 2, out->phase);
    db_bind_int(stmt, 3, out->device);
    err = db_step(stmt);
    if (err == DB_ROW) {
        out->phase = db_column_int(stmt, 0);
        out->step = int_or_none(stmt, 3);
        out->phase_begin_seq = db_column_int(stmt, 4);
        out->phase_begin_allocated = int_or_none(stmt, 5);
        if (!copy_text(stmt, 1, &out->phase_name) || !copy_text(stmt, 2, &out->phase_kind))
            err = ERR_NOMEM;
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

enum { DEEPEST = 64 };

/* From the inside out; a phase that is deeper than anybody nests shows its inner names. */
static int read_path(struct db *db, int64_t id, char **out)
{
    struct db_stmt *stmt = NULL;
    struct buf path = {0};
    int err = db_prepare(db, &stmt, "SELECT name, parent FROM phase WHERE id = ?");
    for (int depth = 0; err >= 0 && id != PEAK_NONE && depth < DEEPEST; depth++) {
        struct buf longer = {0};
        db_bind_int(stmt, 0, id);
        err = db_step(stmt);
        if (err != DB_ROW)
            break;
        buf_text(&longer, db_column_text(stmt, 0));
        if (depth)
            buf_print(&longer, " > %s", buf_string(&path));
        id = int_or_none(stmt, 1);
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

static int read_device_used(struct db *db, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, device_used_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->device);
    db_bind_int(stmt, 1, out->at_ns);
    err = db_step(stmt);
    if (err == DB_ROW)
        out->device_used = db_column_int(stmt, 0);
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

/* ---- groups ---- */

static struct peak_group *new_group(struct peak_groups *groups, int64_t id)
{
    if (!MEM_GROW(groups->groups, groups->cap, groups->count + 1))
        return NULL;
    struct peak_group *group = &groups->groups[groups->count++];
    *group = (struct peak_group){.id = id, .step = PEAK_NONE};
    return group;
}

static struct peak_group *group_of(struct peak_groups *groups, int64_t id)
{
    uint64_t place = map_get(&groups->index, (uint64_t)id);
    if (place != MAP_NONE)
        return &groups->groups[place];
    if (!map_put(&groups->index, (uint64_t)id, groups->count, NULL))
        return NULL;
    return new_group(groups, id);
}

/* There are a dozen categories at most. */
static struct peak_group *category_of(struct peak_groups *groups, struct db_stmt *row, int at)
{
    const char *name = db_column_text(row, at);
    for (size_t i = 0; i < groups->count; i++)
        if (strcmp(groups->groups[i].name, name) == 0)
            return &groups->groups[i];
    struct peak_group *group = new_group(groups, PEAK_NONE);
    if (!group || !(group->name = mem_copy(name, strlen(name))))
        return NULL;
    return group;
}

static bool add_to(struct peak_group *group, int64_t size)
{
    if (!group)
        return false;
    group->bytes += size;
    group->blocks++;
    return true;
}

static int by_size(const void *one, const void *other)
{
    const struct peak_group *a = one, *b = other;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int finish_groups(struct db *db, struct peak_groups *groups, const char *names_sql)
{
    struct db_stmt *stmt = NULL;
    map_clear(&groups->index);
    if (groups->count)
        qsort(groups->groups, groups->count, sizeof *groups->groups, by_size);
    if (!names_sql)
        return 0;
    int err = db_prepare(db, &stmt, names_sql);
    for (size_t i = 0; i < groups->count && err >= 0; i++) {
        struct peak_group *group = &groups->groups[i];
        if (group->id == PEAK_NONE)
            continue;
        db_bind_int(stmt, 0, group->id);
        err = db_step(stmt);
        if (err == DB_ROW) {
            group->step = int_or_none(stmt, 1);
            if (!copy_text(stmt, 0, &group->name) || !copy_text(stmt, 2, &group->kind) ||
                !copy_text(stmt, 3, &group->shown))
                err = ERR_NOMEM;
        }
        db_reset(stmt);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_paths(struct db *db, struct peak_groups *groups)
{
    int err = 0;
    for (size_t i = 0; i < groups->count && err >= 0; i++)
        if (groups->groups[i].id != PEAK_NONE)
            err = read_path(db, groups->groups[i].id, &groups->groups[i].shown);
    return err;
}

static const char site_sql[] =
    "SELECT t.text, NULL, NULL, s.text FROM site_text t JOIN site_short s ON s.site = t.site"
    " WHERE t.site = ?";

/* ---- what lived ---- */

/* CROSS JOIN keeps SQLite to this order: a few keys, then rows by them. UNION, where UNION ALL
 * would say the same, keeps it from planning each half on its own: the half without a keyframe
 * looked so small to it that it searched all phases for each block. */
static const char living_sql[] =
    "WITH base(seq) AS (SELECT coalesce((SELECT max(seq) FROM keyframe WHERE seq <= ?3), -1)),"
    " living(seq) AS ("
    "  SELECT a.seq FROM base CROSS JOIN keyframe k ON k.seq = base.seq"
    "   CROSS JOIN allocation a ON a.seq = k.allocation CROSS JOIN heap h ON h.id = a.heap"
    "   WHERE (a.free_seq < 0 OR a.free_seq > ?3) AND h.process = ?1 AND h.device = ?2"
    "  UNION"
    "  SELECT a.seq FROM base CROSS JOIN allocation a ON a.seq > base.seq AND a.seq <= ?3"
    "   CROSS JOIN heap h ON h.id = a.heap"
    "   WHERE (a.free_seq < 0 OR a.free_seq > ?3) AND h.process = ?1 AND h.device = ?2)"
    "SELECT a.allocation, a.size, a.requested, a.site_id, a.phase_id, c.category FROM living"
    " CROSS JOIN allocations a ON a.allocation = living.seq"
    " CROSS JOIN allocation_category c ON c.allocation = living.seq";

static bool add_block(struct peak *out, struct db_stmt *row)
{
    int64_t seq = db_column_int(row, 0), size = db_column_int(row, 1);
    bool before = out->phase != PEAK_NONE && seq < out->phase_begin_seq;

    out->bytes += size;
    out->blocks++;
    *(before ? &out->before_bytes : &out->added_bytes) += size;
    *(before ? &out->before_blocks : &out->added_blocks) += 1;
    if (db_column_type(row, 2) == DB_NULL)
        out->requested = PEAK_NONE;
    else if (out->requested != PEAK_NONE)
        out->requested += db_column_int(row, 2);
    return add_to(group_of(&out->sites, int_or_none(row, 3)), size) &&
           add_to(group_of(&out->births, int_or_none(row, 4)), size) &&
           add_to(category_of(&out->categories, row, 5), size);
}

static int read_living(struct db *db, struct peak *out)
{
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, living_sql);
    if (err < 0)
        return err;
    db_bind_int(stmt, 0, out->process);
    db_bind_int(stmt, 1, out->device);
    db_bind_int(stmt, 2, out->living_seq);
    while ((err = db_step(stmt)) == DB_ROW) {
        if (!add_block(out, stmt)) {
            err = ERR_NOMEM;
            break;
        }
    }
    db_finalize(stmt);
    if (out->blocks == 0)
        out->requested = PEAK_NONE;
    return err < 0 ? err : 0;
}

int peak_find(struct db *db, int64_t process, int64_t device, int64_t first_step, int64_t last_step,
              struct peak *out)
{
    *out = (struct peak){
        .process = process,
        .device = device,
        .reserved = PEAK_NONE,
        .device_used = PEAK_NONE,
        .phase = PEAK_NONE,
        .step = PEAK_NONE,
        .phase_begin_allocated = PEAK_NONE,
    };
    int err = read_highest(db, first_step, last_step, out);
    if (err < 0 || !out->found)
        return err;
    err = read_phase(db, out);
    if (err == 0)
        err = read_path(db, out->phase, &out->phase_path);
    return err;
}

int peak_read(struct db *db, int64_t process, int64_t device, int64_t first_step, int64_t last_step,
              struct peak *out)
{
    int err = peak_find(db, process, device, first_step, last_step, out);
    if (err < 0 || !out->found)
        return err;
    err = read_device_used(db, out);
    if (err == 0)
        err = read_living(db, out);
    if (err == 0)
        err = finish_groups(db, &out->sites, site_sql);
    if (err == 0)
        err = finish_groups(db, &out->births,
                            "SELECT name, step, kind, NULL FROM phase WHERE id = ?");
    if (err == 0)
        err = read_paths(db, &out->births);
    if (err == 0)
        err = finish_groups(db, &out->categories, NULL);
    return err;
}

static void clear_groups(struct peak_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++) {
        mem_free(groups->groups[i].name);
        mem_free(groups->groups[i].kind);
        mem_free(groups->groups[i].shown);
    }
    mem_free(groups->groups);
    map_clear(&groups->index);
}

void peak_clear(struct peak *peak)
{
    mem_free(peak->phase_name);
    mem_free(peak->phase_kind);
    mem_free(peak->phase_path);
    clear_groups(&peak->sites);
    clear_groups(&peak->births);
    clear_groups(&peak->categories);
    *peak = (struct peak){0};
}

static bool groups_add_up(const struct peak_groups *groups, const struct peak *peak)
{
    int64_t bytes = 0, blocks = 0;
    for (size_t i = 0; i < groups->count; i++) {
        bytes += groups->groups[i].bytes;
        blocks += groups->groups[i].blocks;
        if (i && groups->groups[i].bytes > groups->groups[i - 1].bytes)
            return false;
    }
    return bytes == peak->bytes && blocks == peak->blocks;
}

bool peak_is_valid(const struct peak *peak)
{
    return peak->before_bytes + peak->added_bytes == peak->bytes &&
           peak->before_blocks + peak->added_blocks == peak->blocks &&
           groups_add_up(&peak->sites, peak) && groups_add_up(&peak->births, peak) &&
           groups_add_up(&peak->categories, peak);
}
