/*
 * The plot of a long run: buckets of table curve, a few for each column.
 *
 * One heap's lowest and highest values in a column are those of its buckets there. Heaps of one
 * device are added up, which gives bounds: the true highest value is not above the sum of the
 * heaps' highest ones. With one heap they are exact. The peak of the range is known from the
 * phases, and course.c puts it right.
 */
#include "course_parts.h"

#include <string.h>

#include "error.h"
#include "mem.h"
#include "query.h"

/* The finest level, which has a few thousand buckets. Where heaps are many, the coarsest one with
 * four buckets or more for each column. */
static const char buckets_sql[] =
    "SELECT c.heap, c.quantity, c.level, c.bucket, c.first, c.min, c.max, c.last"
    "  FROM (SELECT c.heap AS heap, c.quantity AS quantity, min(c.level) AS base,"
    "               max(c.level) AS top"
    "          FROM curve c JOIN heap h ON h.id = c.heap"
    "         WHERE h.process = ?1 AND h.device = ?2 GROUP BY c.heap, c.quantity) f"
    "  CROSS JOIN curve c ON c.heap = f.heap AND c.quantity = f.quantity"
    "   AND c.level = CASE WHEN (SELECT count(*) FROM heap WHERE process = ?1 AND device = ?2)"
    "                           <= 32 THEN f.base ELSE max(f.base, min(f.top, ?5)) END"
    "   AND c.bucket BETWEEN (?3 >> c.level) AND (?4 >> c.level)"
    " ORDER BY c.quantity, c.heap, c.bucket";

static int64_t level_for(int64_t column_ns)
{
    int64_t level = 0;
    while (level < 60 && (int64_t)1 << (level + 1) <= column_ns / 4)
        level++;
    return level;
}

struct heaps {
    int64_t heap;
    bool reserved, any;
};

struct row {
    int64_t heap, level, bucket, first, min, max, last;
    const char *quantity;
};

static int add_bucket(struct course_work *work, const struct row *row, struct heaps *now)
{
    bool reserved = strcmp(row->quantity, "reserved") == 0;
    int64_t level = row->level, bucket = row->bucket;
    if (!now->any || now->heap != row->heap || now->reserved != reserved)
        work->heap_count++;
    *now = (struct heaps){row->heap, reserved, true};
    if (level < 0 || level > 62 || bucket < 0 || bucket > INT64_MAX >> level)
        return ERR_CORRUPT;
    if (!MEM_GROW(work->buckets, work->bucket_cap, work->bucket_count + 1))
        return ERR_NOMEM;
    int64_t end = bucket + 1 > INT64_MAX >> level ? INT64_MAX : (bucket + 1) << level;
    work->buckets[work->bucket_count++] = (struct course_bucket){
        .from_ns = bucket << level,
        .until_ns = end,
        .first = row->first,
        .min = row->min,
        .max = row->max,
        .last = row->last,
        .heap = work->heap_count - 1,
        .reserved = reserved,
    };
    return 0;
}

/* Of whatever heap and quantity: in the order in which time goes. */
static void fit_range(struct course_work *work)
{
    struct course *out = work->out;
    int64_t last = 0;
    for (size_t i = 0; i < work->bucket_count; i++)
        last = work->buckets[i].until_ns > last ? work->buckets[i].until_ns : last;
    bool all = work->request->first_step == INT64_MIN && work->request->last_step == INT64_MAX;
    if (all && last > out->until_ns)
        out->until_ns = last;
    out->reserved_known = work->buckets[work->bucket_count - 1].reserved;
}

int course_read_buckets(struct course_work *work, int64_t column_ns)
{
    const struct course_request *request = work->request;
    bool all = request->first_step == INT64_MIN && request->last_step == INT64_MAX;
    struct heaps now = {0};
    struct row row;
    struct query query =
        query_ask(work->db, buckets_sql,
                  Q_IN(request->process, request->device, work->out->from_ns,
                       all ? INT64_MAX : work->out->until_ns, level_for(column_ns)),
                  Q_OUT(Q_INT(row.heap), Q_TEXT(row.quantity), Q_INT(row.level), Q_INT(row.bucket),
                        Q_INT(row.first), Q_INT(row.min), Q_INT(row.max), Q_INT(row.last)));
    while (query_next(&query))
        query_fail(&query, add_bucket(work, &row, &now));
    int err = query_end(&query);
    if (err == 0 && work->bucket_count > 0)
        fit_range(work);
    return err;
}

/* ---- laying ---- */

/* One heap's values, column by column; what has no bucket has the last value before it. */
struct line {
    int64_t first[COURSE_COLUMNS_MAX], min[COURSE_COLUMNS_MAX], max[COURSE_COLUMNS_MAX],
        last[COURSE_COLUMNS_MAX];
    bool seen[COURSE_COLUMNS_MAX];
};

static void see(struct line *line, unsigned at, const struct course_bucket *bucket, int64_t first)
{
    if (!line->seen[at]) {
        line->seen[at] = true;
        line->first[at] = first;
        line->min[at] = bucket->min;
        line->max[at] = bucket->max;
    }
    line->min[at] = bucket->min < line->min[at] ? bucket->min : line->min[at];
    line->max[at] = bucket->max > line->max[at] ? bucket->max : line->max[at];
    line->last[at] = bucket->last;
}

/* A bucket wider than a column stands in all that it touches. */
static void draw(const struct course_work *work, struct line *line,
                 const struct course_bucket *buckets, size_t count)
{
    unsigned columns = work->out->count;
    memset(line, 0, sizeof *line);
    for (size_t i = 0; i < count; i++) {
        const struct course_bucket *bucket = &buckets[i];
        unsigned at = course_column_of_ns(work, bucket->from_ns);
        unsigned last = course_column_of_ns(work, bucket->until_ns - 1);
        for (unsigned c = at; c <= last; c++)
            see(line, c, bucket, c == at ? bucket->first : bucket->last);
    }
    int64_t value = count > 0 ? buckets[0].first : 0;
    for (unsigned i = 0; i < columns; i++) {
        if (!line->seen[i])
            line->min[i] = line->max[i] = line->last[i] = value;
        line->first[i] = value;
        line->min[i] = value < line->min[i] ? value : line->min[i];
        line->max[i] = value > line->max[i] ? value : line->max[i];
        value = line->last[i];
    }
}

static void add_line(struct course *out, const struct line *line, bool reserved)
{
    for (unsigned i = 0; i < out->count; i++) {
        struct course_column *column = &out->columns[i];
        if (!reserved) {
            column->first += line->first[i];
            column->min += line->min[i];
            column->max += line->max[i];
            column->last += line->last[i];
            continue;
        }
        if (column->reserved_max == COURSE_NONE)
            column->reserved_min = column->reserved_max = 0;
        column->reserved_min += line->min[i];
        column->reserved_max += line->max[i];
    }
}

int course_lay_buckets(struct course_work *work)
{
    struct line *line = mem_alloc(1, sizeof *line);
    struct course *out = work->out;
    if (!line)
        return ERR_NOMEM;
    for (size_t i = 0, n; i < work->bucket_count; i += n) {
        for (n = 1;
             i + n < work->bucket_count && work->buckets[i + n].heap == work->buckets[i].heap;)
            n++;
        draw(work, line, work->buckets + i, n);
        add_line(out, line, work->buckets[i].reserved);
    }
    mem_free(line);
    return 0;
}
