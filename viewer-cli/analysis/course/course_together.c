#include "course_together.h"

#include <string.h>

#include "error.h"
#include "mem.h"
#include "pqueue.h"
#include "query.h"
#include "search.h"

/* One heap's curve, and the change of it that comes next. Buckets are brought to `common`, the
 * finest level that all heaps of its process on the device have, as in the view timeline. */
struct source {
    struct query query;
    struct query_place places[3]; /* of the query */
    int64_t heap;
    int64_t bucket, last; /* the row that was read and not used yet, if there is `more` */
    bool more;
    int64_t level, common;
    size_t part;
    int64_t at_ns, bytes; /* the next change: from then on it has so many */
    int64_t now;          /* what it has */
};

/* What comes next of one source, or the end of a part: behind all that happened until then. */
struct turn {
    int64_t at_ns;
    bool ends;
    size_t of; /* the source, or the part */
};

struct part {
    int64_t end_ns; /* INT64_MAX: not known */
    int64_t now;    /* what all of its heaps have */
};

struct together {
    struct db *db;
    const struct together_request *request;
    struct course *out;
    struct source *sources; /* opened once all are there: the queries point into them */
    size_t source_count, source_cap, opened;
    struct part *parts; /* as many as the request has */
    struct turn *turns; /* a heap by time: one for each source that goes on and part that ends */
    size_t turn_count;
    int64_t sum, bytes[PURPOSES]; /* of all parts, by letter */
    int64_t *used_ns;             /* for each column: of its last sample; COURSE_NONE */
    int64_t *used;                /* its value */
    int64_t first_ns, last_ns;    /* of everything that happens */
};

/* ---- what there is ---- */

static const char heaps_sql[] = "SELECT process, heap, level, common FROM ("
                                " SELECT process, heap, level,"
                                "        max(max(coalesce(level, 0), coalesce(reserved, 0))) OVER "
                                "(PARTITION BY process) AS common"
                                "   FROM (SELECT h.process AS process, h.id AS heap,"
                                "                (SELECT min(level) FROM curve WHERE heap = h.id "
                                "AND quantity = 'allocated') AS level,"
                                "                (SELECT min(level) FROM curve WHERE heap = h.id "
                                "AND quantity = 'reserved') AS reserved"
                                "           FROM heap h WHERE h.device = ?1))"
                                " WHERE level IS NOT NULL ORDER BY process, heap";

static const char buckets_sql[] =
    "SELECT bucket, last FROM curve WHERE heap = ?1 AND quantity = 'allocated' AND level = ?2"
    " ORDER BY bucket";

static const char used_sql[] =
    "SELECT at_ns, value FROM sample WHERE device = ?1 AND what = 'device used'";

static size_t part_of(const struct together *together, int64_t process)
{
    const struct together_request *request = together->request;
    size_t at;
    SEARCH_FIRST(at, (size_t)0, request->count, request->parts[at].process < process);
    return at < request->count && request->parts[at].process == process ? at : request->count;
}

static int read_ends(struct together *together)
{
    int64_t id, end_ns;
    for (size_t i = 0; i < together->request->count; i++)
        together->parts[i].end_ns = INT64_MAX;
    struct query query =
        query_ask(together->db, "SELECT id, end_ns FROM process WHERE end_ns IS NOT NULL",
                  Q_NOTHING, Q_OUT(Q_INT(id), Q_INT(end_ns)));
    while (query_next(&query)) {
        size_t part = part_of(together, id);
        if (part < together->request->count)
            together->parts[part].end_ns = end_ns;
    }
    return query_end(&query);
}

static int add_source(struct together *together, int64_t heap, int64_t process, int64_t level,
                      int64_t common)
{
    size_t part = part_of(together, process);
    if (part == together->request->count)
        return 0;
    if (level < 0 || common < level || common > 62)
        return ERR_CORRUPT;
    if (!MEM_GROW(together->sources, together->source_cap, together->source_count + 1))
        return ERR_NOMEM;
    struct source *source = &together->sources[together->source_count++];
    *source = (struct source){.level = level, .common = common, .part = part, .heap = heap};
    return 0;
}

static int read_heaps(struct together *together)
{
    int64_t heap, process, level, common;
    struct query query = query_ask(together->db, heaps_sql, Q_IN(together->request->device),
                                   Q_OUT(Q_INT(process), Q_INT(heap), Q_INT(level), Q_INT(common)));
    while (query_next(&query))
        query_fail(&query, add_source(together, heap, process, level, common));
    return query_end(&query);
}

/* ---- one source ---- */

static int read_row(struct source *source)
{
    source->more = query_next(&source->query);
    if (!source->more)
        return 0; /* an error is what its end returns */
    int64_t whole = source->bucket >> (source->common - source->level);
    return whole >= 0 && whole < INT64_MAX >> source->common ? 0 : ERR_CORRUPT;
}

/* To its next change. *over: there is none. A row stands at the end of what it sums up, which may
 * lie behind the end of its process. */
static int advance(struct together *together, struct source *source, bool *over)
{
    int err = 0;
    int64_t shift = source->common - source->level, whole = source->bucket >> shift;
    int64_t end_ns = together->parts[source->part].end_ns;
    *over = !source->more;
    while (source->more && source->bucket >> shift == whole && err == 0) {
        source->bytes = source->last;
        err = read_row(source);
    }
    source->at_ns = (whole + 1) << source->common;
    if (source->at_ns > end_ns)
        source->at_ns = end_ns;
    return err;
}

static bool is_before(const struct turn *a, const struct turn *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->ends < b->ends;
}

static void add_turn(struct together *together, struct turn turn)
{
    size_t place = together->turn_count++;
    together->turns[place] = turn;
    PQUEUE_RISE(together->turns, place, is_before);
}

static void drop_first(struct together *together)
{
    struct turn *turns = together->turns;
    turns[0] = turns[--together->turn_count];
    if (together->turn_count > 0)
        PQUEUE_SINK(turns, 0, together->turn_count, is_before);
}

static int open_source(struct together *together, struct source *source)
{
    bool over;
    memcpy(source->places, Q_OUT(Q_INT(source->bucket), Q_INT(source->last)),
           sizeof source->places);
    source->query =
        query_ask(together->db, buckets_sql, Q_IN(source->heap, source->level), source->places);
    together->opened++;
    int err = read_row(source);
    if (err == 0)
        err = advance(together, source, &over);
    if (err == 0 && !over)
        add_turn(together,
                 (struct turn){source->at_ns, false, (size_t)(source - together->sources)});
    return err;
}

/* ---- how long it is ---- */

static int last_of(struct together *together, const struct source *source)
{
    int64_t last = 0;
    int err = query_read(together->db,
                         "SELECT max(bucket) AS last FROM curve WHERE heap = ?1 AND"
                         " quantity = 'allocated' AND level = ?2",
                         Q_IN(source->heap, source->level), Q_OUT(Q_INT(last)));
    int64_t whole = last >> (source->common - source->level);
    if (err < 0 || whole < 0 || whole >= INT64_MAX >> source->common)
        return err < 0 ? err : ERR_CORRUPT;
    int64_t at_ns = (whole + 1) << source->common, end_ns = together->parts[source->part].end_ns;
    at_ns = at_ns < end_ns ? at_ns : end_ns;
    together->last_ns = at_ns > together->last_ns ? at_ns : together->last_ns;
    return 0;
}

static int add_used_range(struct together *together)
{
    int64_t first = QUERY_NONE, last = QUERY_NONE;
    int err = query_read(together->db,
                         "SELECT min(at_ns) AS first, max(at_ns) AS last FROM sample"
                         " WHERE device = ?1 AND what = 'device used'",
                         Q_IN(together->request->device), Q_OUT(Q_OPT(first), Q_OPT(last)));
    if (err < 0 || first == QUERY_NONE)
        return err;
    together->first_ns = first < together->first_ns ? first : together->first_ns;
    together->last_ns = last > together->last_ns ? last : together->last_ns;
    return 0;
}

static int open_all(struct together *together)
{
    int err = 0;
    for (size_t i = 0; i < together->request->count; i++) {
        int64_t end_ns = together->parts[i].end_ns;
        if (end_ns == INT64_MAX)
            continue;
        add_turn(together, (struct turn){end_ns, true, i});
        together->last_ns = end_ns > together->last_ns ? end_ns : together->last_ns;
    }
    for (size_t i = 0; i < together->source_count && err == 0; i++) {
        err = last_of(together, &together->sources[i]);
        if (err == 0)
            err = open_source(together, &together->sources[i]);
    }
    together->first_ns = together->turn_count > 0 ? together->turns[0].at_ns : 0;
    return err == 0 ? add_used_range(together) : err;
}

/* ---- columns ---- */

/* What there is now becomes the column's, if it is more than what it has. */
static void see(struct together *together, unsigned at)
{
    struct course *out = together->out;
    struct course_column *column = &out->columns[at];
    int64_t sum = together->sum;
    column->last = sum;
    column->min = sum < column->min ? sum : column->min;
    if (sum <= column->max)
        return;
    column->max = sum;
    memcpy(column->bytes, together->bytes, sizeof column->bytes);
    if (sum > out->peak) {
        out->peak = sum;
        out->peak_at = at;
    }
}

static void begin_column(struct together *together, unsigned at)
{
    struct course *out = together->out;
    struct course_column *column = &out->columns[at];
    int64_t span = out->until_ns - out->from_ns;
    column->from_ns = out->from_ns + (int64_t)((double)span * at / out->count);
    column->until_ns = out->from_ns + (int64_t)((double)span * (at + 1) / out->count);
    column->step = column->reserved_min = column->reserved_max = COURSE_NONE;
    column->max = -1;
    column->first = column->min = together->sum;
    see(together, at);
}

static void change(struct together *together, size_t part, int64_t by)
{
    together->parts[part].now += by;
    together->sum += by;
    together->bytes[together->request->parts[part].letter] += by;
}

static int take_turn(struct together *together)
{
    struct turn *turn = &together->turns[0];
    bool over = true;
    int err = 0;
    if (turn->ends) {
        change(together, turn->of, -together->parts[turn->of].now);
    } else {
        struct source *source = &together->sources[turn->of];
        change(together, source->part, source->bytes - source->now);
        source->now = source->bytes;
        err = advance(together, source, &over);
        turn->at_ns = source->at_ns;
    }
    if (over)
        drop_first(together);
    else
        PQUEUE_SINK(together->turns, 0, together->turn_count, is_before);
    return err;
}

/* All that changes at one moment is one change. */
static int take_moment(struct together *together)
{
    struct turn moment = together->turns[0];
    int err = 0;
    while (err == 0 && together->turn_count > 0 && !is_before(&moment, &together->turns[0]))
        err = take_turn(together);
    return err;
}

static int lay(struct together *together)
{
    struct course *out = together->out;
    unsigned at = 0;
    int err = 0;
    begin_column(together, at);
    while (together->turn_count > 0 && err == 0) {
        while (at + 1 < out->count && together->turns[0].at_ns >= out->columns[at].until_ns)
            begin_column(together, ++at);
        err = take_moment(together);
        see(together, at);
    }
    while (at + 1 < out->count)
        begin_column(together, ++at);
    return err;
}

/* ---- what the device had in use ---- */

static void take_sample(struct together *together, int64_t at_ns, int64_t value)
{
    const struct course *out = together->out;
    unsigned at;
    SEARCH_FIRST(at, 0u, out->count - 1, out->columns[at].until_ns <= at_ns);
    struct course_column *column = &out->columns[at];
    column->reserved_max = value > column->reserved_max ? value : column->reserved_max;
    if (at_ns >= together->used_ns[at]) {
        together->used_ns[at] = at_ns;
        together->used[at] = value;
    }
}

/* Until the next sample the device has what it had. */
static void carry_used(struct together *together)
{
    struct course *out = together->out;
    int64_t used = COURSE_NONE;
    for (unsigned at = 0; at < out->count; at++) {
        struct course_column *column = &out->columns[at];
        column->reserved_max = used > column->reserved_max ? used : column->reserved_max;
        column->reserved_min = column->reserved_max;
        if (column->reserved_max > out->reserved_peak)
            out->reserved_peak = column->reserved_max;
        used = together->used_ns[at] == COURSE_NONE ? used : together->used[at];
    }
    out->reserved_known = out->reserved_peak != COURSE_NONE;
}

static int lay_used(struct together *together)
{
    int64_t at_ns, value;
    for (unsigned at = 0; at < together->out->count; at++)
        together->used_ns[at] = COURSE_NONE;
    struct query query = query_ask(together->db, used_sql, Q_IN(together->request->device),
                                   Q_OUT(Q_INT(at_ns), Q_INT(value)));
    while (query_next(&query))
        take_sample(together, at_ns, value);
    carry_used(together);
    return query_end(&query);
}

/* ---- all of it ---- */

static int lay_columns(struct together *together)
{
    struct course *out = together->out;
    unsigned columns = together->request->columns;
    *out = (struct course){.count = columns,
                           .categories = true,
                           .from_ns = together->first_ns,
                           .until_ns = together->last_ns + 1,
                           .peak_step = COURSE_NONE,
                           .reserved_peak = COURSE_NONE};
    out->columns = mem_alloc(columns, sizeof *out->columns);
    together->used = mem_alloc(columns, sizeof *together->used);
    together->used_ns = mem_alloc(columns, sizeof *together->used_ns);
    if (!out->columns || !together->used || !together->used_ns)
        return ERR_NOMEM;
    int err = lay(together);
    return err == 0 ? lay_used(together) : err;
}

static int work(struct together *together)
{
    size_t parts = together->request->count;
    together->parts = mem_alloc(parts, sizeof *together->parts);
    int err = together->parts ? read_ends(together) : ERR_NOMEM;
    if (err == 0)
        err = read_heaps(together);
    if (err < 0 || together->source_count == 0)
        return err;
    together->turns = mem_alloc(together->source_count + parts, sizeof *together->turns);
    err = together->turns ? open_all(together) : ERR_NOMEM;
    return err == 0 ? lay_columns(together) : err;
}

int course_together(struct db *db, const struct together_request *request, struct course *out)
{
    struct together together = {.db = db, .request = request, .out = out};
    *out = (struct course){0};
    int err = request->count > 0 ? work(&together) : 0;
    for (size_t i = 0; i < together.opened; i++) {
        int ended = query_end(&together.sources[i].query);
        err = err < 0 ? err : ended;
    }
    mem_free(together.sources);
    mem_free(together.parts);
    mem_free(together.turns);
    mem_free(together.used);
    mem_free(together.used_ns);
    return err;
}
