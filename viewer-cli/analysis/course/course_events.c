/*
 * The exact plot: every birth and end of a block in the range, in the order of their numbers, from
 * what lived as the range began. That is the last keyframe before it and what was born since.
 */
#include "course_parts.h"

#include <stdlib.h>

#include "category.h"
#include "error.h"
#include "group.h"
#include "mem.h"
#include "query.h"
#include "span.h"

struct reading {
    struct course_work *work;
    struct category_rules *rules; /* NULL: categories are not asked for */
    int64_t frame;
    int (*see)(void *self, const struct course_block *block);
    void *self;
};

static int add_event(struct course_work *work, const struct course_event *event)
{
    if (!MEM_GROW(work->events, work->event_cap, work->event_count + 1))
        return ERR_NOMEM;
    work->events[work->event_count++] = *event;
    return 0;
}

/* Something of `change` bytes until free_seq (negative: for ever). */
static int add_life(struct course_work *work, const struct course_block *life)
{
    const struct course *out = work->out;
    struct course_event event = life->birth;
    int err = 0;
    if (event.seq >= out->first_seq)
        err = add_event(work, &event);
    else if (event.reserved)
        work->base_reserved += event.change;
    else
        work->base[event.purpose] += event.change;
    if (err < 0 || life->free_seq < 0 || life->free_seq > out->last_seq)
        return err;
    event.seq = life->free_seq;
    event.ns = life->free_ns;
    event.change = -event.change;
    return add_event(work, &event);
}

static int add_block(void *self, const struct course_block *block)
{
    return add_life(self, block);
}

struct row {
    int64_t seq, size, alloc_ns, life_ns, free_seq, tag, phase;
};

static struct course_block life_of(const struct row *row)
{
    return (struct course_block){
        .birth = {.seq = row->seq,
                  .change = row->size,
                  .ns = row->alloc_ns,
                  .purpose = PURPOSE_OTHER},
        .free_seq = row->free_seq,
        .free_ns = row->alloc_ns + row->life_ns,
    };
}

static int read_block(struct reading *reading, const struct row *row)
{
    struct category_verdict verdict;
    struct course_block block = life_of(row);
    if (reading->rules) {
        struct category_block asked = {row->seq, row->free_seq, row->tag, row->phase, row->size};
        int err = category_decide(reading->rules, &asked, &verdict);
        if (err < 0)
            return err;
        block.birth.purpose = (uint8_t)verdict.purpose;
    }
    return reading->see(reading->self, &block);
}

/* The statement has the first `count` of the parameters. */
static int read_blocks(struct reading *reading, const char *sql)
{
    const struct course_work *work = reading->work;
    struct row row;
    struct query query =
        query_ask(work->db, sql,
                  Q_IN(work->request->process, work->request->device, work->out->first_seq,
                       work->out->last_seq, reading->frame),
                  Q_OUT(Q_INT(row.seq), Q_SIZE(row.size), Q_INT(row.alloc_ns), Q_INT(row.life_ns),
                        Q_INT(row.free_seq), Q_OPT(row.tag), Q_OPT(row.phase)));
    while (query_next(&query))
        query_fail(&query, read_block(reading, &row));
    return query_end(&query);
}

#define HEAPS "(SELECT id FROM heap WHERE process = ?1 AND device = ?2)"
#define BLOCK "SELECT a.seq, a.size, a.alloc_ns, a.life_ns, a.free_seq, a.tag, ap.phase"
#define PHASE "  LEFT JOIN allocation_phase ap ON ap.allocation = a.seq"
#define TOUCHES "(a.free_seq < 0 OR a.free_seq >= ?3)"

static const char frame_sql[] =
    "SELECT coalesce(max(seq), -1) AS frame FROM keyframe WHERE seq < ?1";

static const char kept_sql[] = BLOCK
    " FROM keyframe k CROSS JOIN allocation a ON a.seq = k.allocation" PHASE
    " WHERE k.seq = ?5 AND k.allocation >= " SPAN_FIRST " AND a.heap IN " HEAPS " AND " TOUCHES;

static const char since_sql[] =
    BLOCK " FROM allocation a" PHASE " WHERE a.seq > max(?5, " SPAN_FIRST " - 1)"
          " AND a.seq <= ?4 AND a.heap IN " HEAPS " AND " TOUCHES;

static const char segments_sql[] =
    "SELECT a.seq, a.size, a.alloc_ns, a.life_ns, a.free_seq FROM segment a"
    " WHERE a.seq <= ?4 AND a.heap IN " HEAPS
    " AND (a.free_seq IS NULL OR a.free_seq < 0 OR a.free_seq >= ?3)"
    " UNION ALL "
    "SELECT m.seq, CASE WHEN m.mapped THEN m.size ELSE -m.size END, m.at_ns, NULL, NULL"
    "  FROM mapping m WHERE m.seq <= ?4 AND m.heap IN " HEAPS;

static int read_segments(struct course_work *work)
{
    struct row row;
    struct query query = query_ask(work->db, segments_sql,
                                   Q_IN(work->request->process, work->request->device,
                                        work->out->first_seq, work->out->last_seq),
                                   Q_OUT(Q_INT(row.seq), Q_SIZE(row.size), Q_INT(row.alloc_ns),
                                         Q_INT(row.life_ns), Q_OPT(row.free_seq)));
    while (query_next(&query)) {
        struct course_block segment = life_of(&row);
        segment.birth.purpose = 0;
        segment.birth.reserved = true;
        work->out->reserved_known = true;
        query_fail(&query, add_life(work, &segment));
    }
    return query_end(&query);
}

/* Ends before births at the same number: where an allocator's history told of segments later, a
 * segment goes before the block of that number comes. */
static int compare(const void *a, const void *b)
{
    const struct course_event *x = a, *y = b;
    if (x->seq != y->seq)
        return x->seq < y->seq ? -1 : 1;
    return x->change < y->change ? -1 : x->change > y->change;
}

/* Bytes that the process began with, from its first block to the last event. */
static void fit_range(struct course_work *work)
{
    struct course *out = work->out;
    const struct course_event *last = &work->events[work->event_count - 1];
    if (last->ns >= out->until_ns)
        out->until_ns = last->ns + 1;
    if (work->events[0].ns < out->from_ns)
        out->from_ns = work->events[0].ns;
}

int course_each_block(struct course_work *work,
                      int (*see)(void *self, const struct course_block *block), void *self)
{
    struct reading reading = {.work = work, .frame = -1, .see = see, .self = self};
    int err =
        query_read(work->db, frame_sql, Q_IN(work->out->first_seq), Q_OUT(Q_INT(reading.frame)));
    if (err == 0 && work->request->categories)
        err = category_load(work->db, work->request->process, &reading.rules);
    if (err == 0)
        err = read_blocks(&reading, kept_sql);
    if (err == 0)
        err = read_blocks(&reading, since_sql);
    category_free(reading.rules);
    return err;
}

int course_read_events(struct course_work *work)
{
    int err = course_each_block(work, add_block, work);
    if (err == 0)
        err = read_segments(work);
    if (err < 0 || work->event_count == 0)
        return err;
    qsort(work->events, work->event_count, sizeof *work->events, compare);
    fit_range(work);
    return 0;
}

/* ---- laying ---- */

struct sums {
    int64_t bytes[PURPOSES];
    int64_t allocated, reserved;
};

static void begin_column(const struct course_work *work, struct course_column *column,
                         const struct sums *sums)
{
    column->first = column->min = column->max = column->last = sums->allocated;
    for (unsigned i = 0; i < PURPOSES; i++)
        column->bytes[i] = sums->bytes[i];
    if (work->out->reserved_known)
        column->reserved_min = column->reserved_max = sums->reserved;
}

static void see(struct course_column *column, const struct sums *sums, bool reserved)
{
    if (reserved) {
        if (sums->reserved > column->reserved_max)
            column->reserved_max = sums->reserved;
        if (sums->reserved < column->reserved_min)
            column->reserved_min = sums->reserved;
        return;
    }
    column->last = sums->allocated;
    if (sums->allocated < column->min)
        column->min = sums->allocated;
    if (sums->allocated <= column->max)
        return;
    column->max = sums->allocated;
    for (unsigned i = 0; i < PURPOSES; i++)
        column->bytes[i] = sums->bytes[i];
}

static bool is_behind(const struct course_work *work, const struct course_event *event,
                      unsigned column)
{
    if (column + 1 >= work->out->count)
        return false;
    return work->request->by_events ? event->seq >= work->bound_seq[column + 1]
                                    : event->ns >= work->bound_ns[column + 1];
}

void course_lay_events(struct course_work *work)
{
    struct course *out = work->out;
    struct sums sums = {.reserved = work->base_reserved};
    unsigned at = 0;
    for (unsigned i = 0; i < PURPOSES; i++) {
        sums.bytes[i] = work->base[i];
        sums.allocated += work->base[i];
    }
    begin_column(work, &out->columns[0], &sums);
    for (size_t i = 0; i < work->event_count; i++) {
        const struct course_event *event = &work->events[i];
        while (is_behind(work, event, at))
            begin_column(work, &out->columns[++at], &sums);
        if (event->reserved) {
            sums.reserved += event->change;
        } else {
            sums.allocated += event->change;
            sums.bytes[event->purpose] += event->change;
        }
        see(&out->columns[at], &sums, event->reserved);
    }
    while (at + 1 < out->count)
        begin_column(work, &out->columns[++at], &sums);
}
