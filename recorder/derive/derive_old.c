/*
 * derive_old.c - a curve from the rows that it has already.
 *
 * The buckets of a level are a chain: each begins with the value that the one before ended with. A
 * level is whole if its chain has no break and ends as the coarsest level does. The finest level
 * that is whole is fed to a curve that begins with this level, which makes the same rows again and
 * those of the levels above. If no level is whole, the finest is taken, and what a gap hides is
 * added to the bucket behind it.
 */
#include <string.h>

#include "derive_types.h"
#include "error.h"
#include "mem.h"
#include "query.h"

struct row {
    int64_t bucket, first, min, max, last;
};

struct rows {
    struct row *at;
    size_t count, cap;
    int64_t level;
    bool whole;
};

int derive_old_last(struct derive *derive, const struct derive_heap *heap, const char *quantity,
                    bool *found, int64_t *last)
{
    *last = 0;
    int err = query_first(derive->options->facts,
                          "SELECT last FROM curve WHERE heap=?1 AND quantity=?2"
                          " ORDER BY level DESC, bucket DESC LIMIT 1",
                          Q_IN(heap->id, quantity), Q_OUT(Q_INT(*last)));
    *found = err == DB_ROW;
    return err < 0 ? err : 0;
}

/* The next level above `after`; -1: there is none. */
static int next_level(struct derive *derive, const struct derive_heap *heap, const char *quantity,
                      int64_t after, int64_t *level)
{
    struct db_stmt *stmt = NULL;
    int err =
        db_prepare(derive->options->facts, &stmt,
                   "SELECT min(level) FROM curve WHERE heap=?1 AND quantity=?2 AND level > ?3");
    *level = -1;
    if (err == 0) {
        db_bind_int(stmt, 0, heap->id);
        db_bind_text(stmt, 1, quantity, -1);
        db_bind_int(stmt, 2, after);
        err = db_step_behind(stmt, after, level);
    }
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int read_level(struct derive *derive, const struct derive_heap *heap, const char *quantity,
                      struct rows *rows)
{
    struct row row;
    struct query query =
        query_ask(derive->options->facts,
                  "SELECT bucket, first, min, max, last FROM curve"
                  " WHERE heap=?1 AND quantity=?2 AND level=?3 AND bucket >= 0 ORDER BY bucket",
                  Q_IN(heap->id, quantity, rows->level),
                  Q_OUT(Q_INT(row.bucket), Q_INT(row.first), Q_INT(row.min), Q_INT(row.max),
                        Q_INT(row.last)));
    rows->count = 0;
    while (query_next(&query)) {
        if (MEM_GROW(rows->at, rows->cap, rows->count + 1))
            rows->at[rows->count++] = row;
        else
            query_fail(&query, ERR_NOMEM);
    }
    return query_end(&query);
}

/* A source's own sum begins as high as it stood when it was first told. */
static bool is_chain(const struct rows *rows, const char *quantity, int64_t last)
{
    bool from_zero = strcmp(quantity, "allocated") == 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct row *row = &rows->at[i];
        int64_t before = i ? rows->at[i - 1].last : from_zero ? 0 : row->first;
        if (row->first != before || row->min > row->first || row->min > row->last ||
            row->max < row->first || row->max < row->last)
            return false;
    }
    return rows->count > 0 && rows->at[rows->count - 1].last == last;
}

static int64_t end_of(int64_t bucket, int64_t level)
{
    return bucket >= INT64_MAX >> level ? INT64_MAX : ((bucket + 1) << level) - 1;
}

/* A bucket becomes its lowest, its highest and its last value, in that order. */
static int feed_rows(struct derive *derive, const struct derive_heap *heap, const char *quantity,
                     const struct rows *rows)
{
    struct curve *curve = curve_new(heap->id, quantity);
    int err = curve ? 0 : ERR_NOMEM;
    int64_t before = rows->count && strcmp(quantity, "allocated") != 0 ? rows->at[0].first : 0;
    if (curve)
        curve->base = (unsigned)(rows->level - CURVE_FIRST_LEVEL);
    for (size_t i = 0; i < rows->count && err == 0; i++) {
        const struct row *row = &rows->at[i];
        int64_t ns = end_of(row->bucket, rows->level);
        curve_add(curve, derive->batch, ns, before, row->min);
        curve_add(curve, derive->batch, ns, row->min, row->max);
        curve_add(curve, derive->batch, ns, row->max, row->last);
        before = row->last;
        err = curve->rows_lost ? ERR_NOMEM : derive_flush(derive, false);
    }
    if (err == 0) {
        curve_flush(curve, derive->batch);
        err = curve->rows_lost ? ERR_NOMEM : derive_flush(derive, true);
    }
    curve_free(curve);
    return err;
}

/* The finest level that is whole, else the finest. */
static int choose_level(struct derive *derive, const struct derive_heap *heap, const char *quantity,
                        struct rows *rows)
{
    int64_t level = CURVE_FIRST_LEVEL - 1, finest = -1, last = 0;
    bool found = false;
    int err = derive_old_last(derive, heap, quantity, &found, &last);
    while (err == 0 && found && !rows->whole) {
        err = next_level(derive, heap, quantity, level, &level);
        if (err < 0 || level < 0 || level >= CURVE_FIRST_LEVEL + CURVE_LEVELS)
            break;
        finest = finest < 0 ? level : finest;
        rows->level = level;
        err = read_level(derive, heap, quantity, rows);
        rows->whole = err == 0 && is_chain(rows, quantity, last);
    }
    if (err == 0 && !rows->whole && finest >= 0) {
        rows->level = finest;
        err = read_level(derive, heap, quantity, rows);
    }
    return err;
}

static enum derive_way way_of(const struct rows *rows)
{
    return !rows->count ? DERIVE_LOST : rows->whole ? DERIVE_KEPT : DERIVE_MENDED;
}

int derive_old_way(struct derive *derive, const struct derive_heap *heap, const char *quantity,
                   enum derive_way *way)
{
    struct rows rows = {0};
    int err = choose_level(derive, heap, quantity, &rows);
    *way = way_of(&rows);
    mem_free(rows.at);
    return err;
}

int derive_old(struct derive *derive, const struct derive_heap *heap, const char *quantity,
               enum derive_way *way)
{
    struct rows rows = {0};
    int err = choose_level(derive, heap, quantity, &rows);
    *way = way_of(&rows);
    if (err == 0)
        err = derive_drop(derive, heap->id, quantity);
    if (err == 0 && rows.count)
        err = feed_rows(derive, heap, quantity, &rows);
    mem_free(rows.at);
    return err;
}
