/*
 * The events of an input, in its order: seq and time. Births of blocks come by their key; their
 * deaths wait in a heap until it is their turn, so that memory is that of what lives at once;
 * whatever else has a seq and a time is sorted by SQLite, for it is little beside them.
 */
#include <inttypes.h>

#include "error.h"
#include "mem.h"
#include "merge_types.h"
#include "pqueue.h"
#include "query.h"

struct death {
    int64_t seq, ns;
};

struct other { /* the next event that is no block's */
    struct query query;
    int64_t seq, ns;
    bool any;
};

struct events {
    struct merge *merge;
    struct merge_input *input;
    struct death *deaths;
    size_t count, cap;
    struct other other;
};

static bool dies_before(const struct death *a, const struct death *b)
{
    return a->seq < b->seq;
}

/* Time of one process never runs backwards; of several of one recorder it may, by as much as the
 * recorder reads at once. The order of the input is what counts. */
static int put_event(struct events *events, int64_t seq, int64_t ns)
{
    struct merge_input *input = events->input;
    struct spool *spool = &events->merge->spool;
    if (seq <= input->event_seq || seq >= DB_LARGEST)
        return 0;
    int err = spool_put_number(spool, &input->events, (uint64_t)(seq - input->event_seq));
    if (err == 0)
        err = spool_put_signed(spool, &input->events, ns - input->event_ns);
    input->event_seq = seq;
    input->event_ns = ns;
    input->last_seq = seq > input->last_seq ? seq : input->last_seq;
    input->last_ns = ns > input->last_ns ? ns : input->last_ns;
    return err;
}

static void next_other(struct other *other)
{
    other->any = query_next(&other->query);
}

/* All that comes before the event `seq`. */
static int put_before(struct events *events, int64_t seq)
{
    int err = 0;
    for (;;) {
        bool death = events->count && events->deaths[0].seq < seq;
        bool other = events->other.any && events->other.seq < seq;
        if (err < 0 || (!death && !other))
            return err;
        if (death && (!other || events->deaths[0].seq <= events->other.seq)) {
            struct death first = events->deaths[0];
            events->deaths[0] = events->deaths[--events->count];
            PQUEUE_SINK(events->deaths, 0, events->count, dies_before);
            err = put_event(events, first.seq, first.ns);
        } else {
            err = put_event(events, events->other.seq, events->other.ns);
            next_other(&events->other);
        }
    }
}

enum { /* columns of tables.def */
       AT_SEQ = 0,
       AT_SIZE = 3,
       AT_ALLOC_NS = 5,
       AT_LIFE_NS = 6,
       AT_FREE_SEQ = 7
};

static bool is_below(int64_t value, int64_t end)
{
    return value < end && value > -end;
}

/* As reports take them (db_column_int): with these it is counted. */
static bool is_possible(const struct merge_cell *cells)
{
    return is_below(cells[AT_SEQ].number, DB_LARGEST) &&
           is_below(cells[AT_SIZE].number, DB_LARGEST_SIZE + 1) &&
           is_below(cells[AT_ALLOC_NS].number, DB_LARGEST) &&
           is_below(cells[AT_LIFE_NS].number, DB_LARGEST) &&
           is_below(cells[AT_FREE_SEQ].number, DB_LARGEST);
}

static int take_block(struct events *events, const struct merge_cell *cells)
{
    int64_t seq = cells[AT_SEQ].number, ns = cells[AT_ALLOC_NS].number;
    int64_t life = cells[AT_LIFE_NS].number, free_seq = cells[AT_FREE_SEQ].number;
    int err = put_before(events, seq);
    if (err == 0)
        err = put_event(events, seq, ns);
    if (err < 0 || free_seq <= seq || life < 0)
        return err;
    if (!MEM_GROW(events->deaths, events->cap, events->count + 1))
        return ERR_NOMEM;
    events->deaths[events->count++] = (struct death){free_seq, ns + life};
    PQUEUE_RISE(events->deaths, events->count - 1, dies_before);
    return 0;
}

static const char blocks_sql[] =
    "SELECT seq, heap, address, size, requested, alloc_ns, life_ns, free_seq, site, tag, segment,"
    "  module FROM allocation ORDER BY seq";

static int read_blocks(struct events *events, struct db *db)
{
    const struct merge_table *table = &merge_tables[MERGE_TABLE_allocation];
    struct merge_rows *rows = &events->input->rows[MERGE_TABLE_allocation];
    struct merge_cell cells[MERGE_COLUMNS];
    struct db_stmt *stmt = NULL;
    int err = db_prepare(db, &stmt, blocks_sql), got = 0;
    if (err < 0)
        return merge_input_failed(events->merge, events->input, db, err);
    while (err == 0 && (got = db_step(stmt)) == DB_ROW) {
        err = merge_take_row(events->merge, events->input, table, stmt, cells);
        if (err == 0 && !is_possible(cells))
            err = merge_damaged(events->merge, events->input,
                                "a number of the allocation %" PRId64 " is too large",
                                cells[AT_SEQ].number);
        if (err == 0)
            err = take_block(events, cells);
        if (err == 0)
            err = merge_rows_put(events->merge, rows, cells, table->count);
    }
    if (err == 0 && got < 0)
        err = merge_input_failed(events->merge, events->input, db, got);
    db_finalize(stmt);
    return err < 0 ? err : spool_seal(&events->merge->spool, &rows->stream);
}

/* The time between phases has no events of its own at its begin and its end. */
static const char others_sql[] =
    "SELECT seq, ns FROM"
    " (SELECT begin_seq AS seq, begin_ns AS ns FROM phase WHERE kind <> 'other'"
    "  UNION ALL SELECT end_seq, end_ns FROM phase WHERE kind <> 'other' AND ended = 'end'"
    "  UNION ALL SELECT seq, at_ns FROM mark"
    "  UNION ALL SELECT seq, at_ns FROM oom"
    "  UNION ALL SELECT seq, at_ns FROM anomaly"
    "  UNION ALL SELECT seq, at_ns FROM mapping"
    "  UNION ALL SELECT seq, at_ns FROM driver_mapping"
    "  UNION ALL SELECT seq, alloc_ns FROM segment"
    "  UNION ALL SELECT seq, alloc_ns FROM driver_memory)"
    " WHERE seq > 0 ORDER BY seq, ns";

int merge_read_events(struct merge *merge, struct merge_input *input, struct db *db)
{
    struct events events = {.merge = merge, .input = input};
    struct other *other = &events.other;
    other->query =
        query_ask(db, others_sql, Q_NOTHING,
                  Q_OUT(Q_TO(other->seq, "seq", QUERY_INT), Q_TO(other->ns, "ns", QUERY_INT)));
    next_other(other);
    int err = read_blocks(&events, db);
    if (err == 0)
        err = put_before(&events, INT64_MAX);
    int ended = query_end(&other->query);
    if (err == 0 && ended < 0)
        err = merge_input_failed(merge, input, db, ended);
    mem_free(events.deaths);
    return err < 0 ? err : spool_seal(&merge->spool, &input->events);
}
