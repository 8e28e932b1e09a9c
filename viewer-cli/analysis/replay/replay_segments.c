/*
 * Segments as rows have them, and the ranges of expandable ones, which no row has: pages are mapped
 * from the begin of a range upwards, without a gap, so a page that touches what was mapped of a
 * range belongs to it, and any other begins a new one. A range without a page is given back, and
 * the same addresses are another range from then on, be it of the same heap. Of what was mapped
 * before the record the middle may be missing: there, one heap has one range for large blocks and
 * one for small ones, and what lies in a piece says which it is of; or else the size of its pages
 * does.
 */
#include "replay_load.h"

#include <stdlib.h>

#include "error.h"
#include "mem.h"
#include "query.h"
#include "search.h"

static const char segments_sql[] =
    "SELECT s.seq, s.heap, s.address, s.size, s.free_seq, 1 AS mapped FROM segment s"
    "  JOIN heap h ON h.id = s.heap WHERE h.process = ?1 AND h.device = ?2 ORDER BY s.seq";

static const char mappings_sql[] =
    "SELECT m.seq, m.heap, m.address, m.size, NULL AS free_seq, m.mapped FROM mapping m"
    "  JOIN heap h ON h.id = m.heap WHERE h.process = ?1 AND h.device = ?2 ORDER BY m.seq, m.rowid";

struct row {
    int64_t seq, heap, free_seq;
    uint64_t address, size;
    bool mapped;
};

static int put_segment(struct replay_trace *trace, const struct row *row, uint16_t heap)
{
    if (!MEM_GROW(trace->segments, trace->segment_cap, trace->segment_count + 1))
        return ERR_NOMEM;
    trace->segments[trace->segment_count++] =
        (struct replay_segment){.seq = row->seq,
                                .first = row->seq,
                                .free_seq = row->free_seq == QUERY_NONE ? INT64_MAX : row->free_seq,
                                .address = row->address,
                                .size = row->size,
                                .heap = heap};
    return 0;
}

static int put_mapping(struct replay_trace *trace, const struct row *row, uint16_t heap)
{
    if (!MEM_GROW(trace->mappings, trace->mapping_cap, trace->mapping_count + 1))
        return ERR_NOMEM;
    trace->mappings[trace->mapping_count++] = (struct replay_mapping){.seq = row->seq,
                                                                      .address = row->address,
                                                                      .size = row->size,
                                                                      .heap = heap,
                                                                      .mapped = row->mapped};
    return 0;
}

static int load(struct db *db, const char *sql, int64_t process, int64_t device,
                struct replay_trace *trace,
                int (*put)(struct replay_trace *trace, const struct row *row, uint16_t heap))
{
    struct row row;
    uint16_t last = 0;
    struct query query = query_ask(db, sql, Q_IN(process, device),
                                   Q_OUT(Q_INT(row.seq), Q_INT(row.heap), Q_ANY(row.address),
                                         Q_SIZE(row.size), Q_OPT(row.free_seq), Q_INT(row.mapped)));
    while (query_next(&query)) {
        uint16_t heap = replay_find_heap(trace, row.heap, &last);
        if (heap != REPLAY_NO_HEAP && row.size && !replay_cannot_be(row.address, row.size))
            query_fail(&query, put(trace, &row, heap));
    }
    return query_end(&query);
}

int replay_load_segments(struct db *db, int64_t process, int64_t device, struct replay_trace *trace)
{
    int err = load(db, segments_sql, process, device, trace, put_segment);
    if (err >= 0)
        err = load(db, mappings_sql, process, device, trace, put_mapping);
    return err;
}

/* ---- the order of segments ---- */

void replay_use_segment(struct replay_trace *trace, int64_t segment, int64_t seq)
{
    size_t low;
    SEARCH_FIRST(low, 0, trace->segment_count, trace->segments[low].seq < segment);
    if (low < trace->segment_count && trace->segments[low].seq == segment &&
        seq < trace->segments[low].first)
        trace->segments[low].first = seq;
}

static int by_first(const void *a, const void *b)
{
    const struct replay_segment *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->seq < y->seq ? -1 : x->seq > y->seq;
}

void replay_sort_segments(struct replay_trace *trace)
{
    if (trace->segment_count)
        qsort(trace->segments, trace->segment_count, sizeof *trace->segments, by_first);
    while (trace->adopted_segments < trace->segment_count &&
           trace->segments[trace->adopted_segments].first <= trace->rebuilt_until)
        trace->adopted_segments++;
}

/* ---- ranges ---- */

static int by_address(const void *a, const void *b)
{
    const struct replay_range *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static int put_range(struct replay_trace *trace, struct replay_range range)
{
    if (!MEM_GROW(trace->ranges, trace->range_cap, trace->range_count + 1))
        return ERR_NOMEM;
    trace->ranges[trace->range_count++] = range;
    return 0;
}

static struct replay_range range_of(const struct replay_mapping *mapping, bool adopted)
{
    return (struct replay_range){.seq = mapping->seq,
                                 .address = mapping->address,
                                 .end = mapping->address + mapping->size,
                                 .mapped = mapping->size,
                                 .heap = mapping->heap,
                                 .small = mapping->size % ALLOC_LARGE_SEGMENT != 0,
                                 .adopted = adopted};
}

/* What was mapped before the record, by address; what touches is one piece. */
static int find_pieces(struct replay_trace *trace)
{
    size_t kept = 0;
    int err = 0;
    for (size_t i = 0; i < trace->mapping_count && err >= 0; i++)
        if (trace->mappings[i].mapped && trace->mappings[i].seq <= trace->rebuilt_until)
            err = put_range(trace, range_of(&trace->mappings[i], true));
    if (trace->range_count)
        qsort(trace->ranges, trace->range_count, sizeof *trace->ranges, by_address);
    for (size_t i = 0; i < trace->range_count && err >= 0; i++) {
        struct replay_range *piece = &trace->ranges[i], *last = &trace->ranges[kept ? kept - 1 : 0];
        if (kept && last->end == piece->address && last->heap == piece->heap) {
            last->end = piece->end;
            last->mapped += piece->mapped;
            last->small = (last->end - last->address) % ALLOC_LARGE_SEGMENT != 0;
        } else {
            trace->ranges[kept++] = *piece;
        }
    }
    trace->range_count = kept;
    return err;
}

static struct replay_range *piece_at(struct replay_trace *trace, uint64_t address)
{
    size_t low;
    SEARCH_FIRST(low, 0, trace->range_count, trace->ranges[low].end <= address);
    return low < trace->range_count && trace->ranges[low].address <= address ? &trace->ranges[low]
                                                                             : NULL;
}

/* A block of up to 1 MiB is of the small pool, and every other is not. */
static void tell_pieces(struct replay_trace *trace)
{
    for (size_t i = 0; i < trace->adopted; i++) {
        const struct replay_adopted *block = &trace->adopted_blocks[i];
        struct replay_range *piece = piece_at(trace, trace->blocks[i].address);
        if (block->state != REPLAY_DEAD && piece)
            piece->small = block->size <= ALLOC_SMALL_SIZE;
    }
}

static void join_pieces(struct replay_trace *trace)
{
    size_t kept = 0;
    for (size_t i = 0; i < trace->range_count; i++) {
        const struct replay_range *piece = &trace->ranges[i];
        size_t at = 0;
        while (at < kept &&
               (trace->ranges[at].heap != piece->heap || trace->ranges[at].small != piece->small))
            at++;
        if (at == kept) {
            trace->ranges[kept++] = *piece;
            continue;
        }
        trace->ranges[at].end = piece->end;
        trace->ranges[at].mapped += piece->mapped;
    }
    trace->range_count = kept;
}

/* ---- ranges while the record goes on ---- */

/* Reserved is an eighth more than the device has, in whole pages; where its memory is not known,
 * any number of addresses. */
static bool can_reach(const struct replay_trace *trace, const struct replay_range *range,
                      uint64_t address)
{
    uint64_t page = range->small ? ALLOC_SMALL_SEGMENT : ALLOC_LARGE_SEGMENT;
    uint64_t bytes = (trace->total + trace->total / 8 + page - 1) / page * page;
    return !trace->total || address - range->address < bytes || address < range->end;
}

/* Ranges that are there now, by their places in the trace, oldest first. */
struct open {
    struct replay_trace *trace;
    size_t *at;
    size_t count, cap;
};

/* Ranges that are there at once begin at least as far apart as they are long. */
static void look_at_room(const struct open *open, uint64_t address)
{
    struct replay_trace *trace = open->trace;
    for (size_t i = 0; i < open->count; i++) {
        uint64_t other = trace->ranges[open->at[i]].address;
        uint64_t room = other < address ? address - other : other - address;
        if (room && (!trace->range_room || room < trace->range_room))
            trace->range_room = room;
    }
}

static int put_open(struct open *open, size_t range)
{
    if (!MEM_GROW(open->at, open->cap, open->count + 1))
        return ERR_NOMEM;
    look_at_room(open, open->trace->ranges[range].address);
    open->at[open->count++] = range;
    return 0;
}

/* The newest one that has the address, or ends at it: its place in `at`; count = none. */
static size_t find_open(const struct open *open, uint16_t heap, uint64_t address)
{
    for (size_t i = open->count; i-- > 0;) {
        const struct replay_range *range = &open->trace->ranges[open->at[i]];
        if (range->heap == heap && address >= range->address && address <= range->end &&
            can_reach(open->trace, range, address))
            return i;
    }
    return open->count;
}

static int extend(struct open *open, const struct replay_mapping *mapping)
{
    struct replay_trace *trace = open->trace;
    uint64_t end = mapping->address + mapping->size;
    size_t at = find_open(open, mapping->heap, mapping->address);
    if (at < open->count) {
        struct replay_range *range = &trace->ranges[open->at[at]];
        range->end = end > range->end ? end : range->end;
        range->mapped += mapping->size;
        return 0;
    }
    int err = put_range(trace, range_of(mapping, false));
    return err < 0 ? err : put_open(open, trace->range_count - 1);
}

static void shrink(struct open *open, const struct replay_mapping *mapping)
{
    size_t at = find_open(open, mapping->heap, mapping->address);
    if (at == open->count)
        return;
    struct replay_range *range = &open->trace->ranges[open->at[at]];
    range->mapped -= mapping->size < range->mapped ? mapping->size : range->mapped;
    if (range->mapped)
        return;
    open->count--;
    for (; at < open->count; at++)
        open->at[at] = open->at[at + 1];
}

int replay_find_ranges(struct replay_trace *trace)
{
    struct open open = {.trace = trace};
    int err = find_pieces(trace);
    if (err < 0)
        return err;
    tell_pieces(trace);
    join_pieces(trace);
    for (size_t i = 0; i < trace->range_count && err >= 0; i++)
        err = put_open(&open, i);
    for (size_t i = 0; i < trace->mapping_count && err >= 0; i++) {
        const struct replay_mapping *mapping = &trace->mappings[i];
        if (mapping->seq <= trace->rebuilt_until)
            continue;
        if (mapping->mapped)
            err = extend(&open, mapping);
        else
            shrink(&open, mapping);
    }
    mem_free(open.at);
    return err;
}
