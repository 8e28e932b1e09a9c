/*
 * Rows of blocks come in the order of their births, but say when they end: an operation that is
 * still to come waits in a heap of those to come, the nearest first. So one pass over the table
 * makes the row of operations, and what waits is never more than what lived at once.
 */
#include "replay_load.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "mem.h"
#include "pqueue.h"
#include "query.h"
#include "search.h"
#include "span.h"

static const char heaps_sql[] =
    "SELECT id, stream, pool FROM heap WHERE process = ?1 AND device = ?2 ORDER BY id";

static const char settings_sql[] =
    "SELECT key, value, "
    "  value <> lag(value, 1, value) OVER (PARTITION BY key, device ORDER BY rowid) AS changed"
    " FROM setting WHERE process = ?1 AND (device = ?2 OR device IS NULL)"
    " ORDER BY device IS NULL DESC, rowid";

static const char device_sql[] =
    "SELECT kind = 'cpu' AS cpu, total_bytes AS total FROM device WHERE id = ?1";

static const char blocks_sql[] =
    "SELECT seq, heap, address, size, requested, free_seq, segment FROM allocation"
    " WHERE" SPAN_HAS("seq") " ORDER BY seq";

static const char idle_sql[] =
    "SELECT allocation AS idle_allocation, seq AS idle_seq FROM idle WHERE" SPAN_HAS(
        "allocation") " ORDER BY allocation";

uint16_t replay_find_heap(const struct replay_trace *trace, int64_t id, uint16_t *last)
{
    size_t low;
    if (*last < trace->heap_count && trace->heaps[*last].id == id)
        return *last;
    SEARCH_FIRST(low, 0, trace->heap_count, trace->heaps[low].id < id);
    if (low == trace->heap_count || trace->heaps[low].id != id)
        return REPLAY_NO_HEAP;
    *last = (uint16_t)low;
    return *last;
}

bool replay_cannot_be(uint64_t address, uint64_t size)
{
    const uint64_t addresses = UINT64_C(1) << 62;
    return size > REPLAY_MOST || address > addresses - size;
}

/* ---- what the process was ---- */

static int load_heaps(struct db *db, int64_t process, int64_t device, struct replay_trace *trace)
{
    struct replay_heap heap = {0};
    struct query query = query_ask(db, heaps_sql, Q_IN(process, device),
                                   Q_OUT(Q_INT(heap.id), Q_ANY(heap.stream), Q_ANY(heap.pool)));
    while (query_next(&query)) {
        heap.name = heap.pool ? UINT64_MAX - trace->heap_count : heap.stream;
        if (trace->heap_count == REPLAY_NO_HEAP)
            query_fail(&query, ERR_LIMIT);
        else if (!MEM_GROW(trace->heaps, trace->heap_cap, trace->heap_count + 1))
            query_fail(&query, ERR_NOMEM);
        else
            trace->heaps[trace->heap_count++] = heap;
    }
    return query_end(&query);
}

static int keep_text(char **out, const char *text)
{
    mem_free(*out);
    *out = mem_copy(text, strlen(text));
    return *out ? 0 : ERR_NOMEM;
}

static int take_setting(struct replay_trace *trace, const char *key, const char *value,
                        bool changed)
{
    bool is_conf = strcmp(key, "alloc_conf") == 0, is_limit = strcmp(key, "limit") == 0;
    if ((is_conf || is_limit) && changed)
        trace->settings_changed = true;
    if (is_conf)
        return keep_text(&trace->conf, value);
    if (strcmp(key, "allocator") == 0)
        return keep_text(&trace->allocator, value);
    if (strcmp(key, "torch") == 0)
        return keep_text(&trace->torch, value);
    if (is_limit) {
        long long limit = strtoll(value, NULL, 10);
        trace->limit = limit > 0 ? (uint64_t)limit : 0;
    }
    if (strcmp(key, "rebuilt_until") == 0)
        trace->rebuilt_until = strtoll(value, NULL, 10);
    return 0;
}

static int load_settings(struct db *db, int64_t process, int64_t device, struct replay_trace *trace)
{
    const char *key, *value;
    bool changed;
    uint64_t total = 0;
    struct alloc_config config;
    struct query query = query_ask(db, settings_sql, Q_IN(process, device),
                                   Q_OUT(Q_TEXT(key), Q_TEXT(value), Q_INT(changed)));
    while (query_next(&query))
        query_fail(&query, take_setting(trace, key, value, changed));
    int err = query_end(&query);
    if (err == 0)
        err = query_read(db, device_sql, Q_IN(device), Q_OUT(Q_INT(trace->cpu), Q_INT(total)));
    trace->total = total <= REPLAY_MOST ? total : 0;
    if (err >= 0 && replay_settings(trace, &config, NULL, 0) >= 0 && config.memory_fraction < 1)
        trace->part_limit = alloc_config_limit(&config, trace->total);
    return err;
}

/* ---- operations to come ---- */

struct coming {
    int64_t seq; /* it happened at or before this event */
    uint32_t block;
    uint32_t kind;
};

enum { USED_SEGMENTS = 512 };

/* Invariant: `items` is a heap by is_before (pqueue.h). */
struct loader {
    struct replay_trace *trace;
    int64_t until; /* blocks from this event on are left out, and so are ends after it */
    struct coming *items;
    size_t count, cap;
    struct query idle;
    bool idles; /* below is its next row */
    int64_t idle_allocation, idle_seq;
    struct replay_returns returns;
    uint16_t last_heap;
    int64_t used[USED_SEGMENTS]; /* segment.seq, each in one place: rows before had these; or 0 */
};

static bool is_before(const struct coming *a, const struct coming *b)
{
    if (a->seq != b->seq)
        return a->seq < b->seq;
    return a->block != b->block ? a->block < b->block : a->kind < b->kind;
}

static int await(struct loader *loader, int64_t seq, size_t block, enum replay_kind kind)
{
    if (!MEM_GROW(loader->items, loader->cap, loader->count + 1))
        return ERR_NOMEM;
    loader->items[loader->count] = (struct coming){seq, (uint32_t)block, kind};
    PQUEUE_RISE(loader->items, loader->count, is_before);
    loader->count++;
    return 0;
}

static struct coming take_first(struct loader *loader)
{
    struct coming first = loader->items[0];
    loader->items[0] = loader->items[--loader->count];
    PQUEUE_SINK(loader->items, 0, loader->count, is_before);
    return first;
}

static int put_op(struct loader *loader, struct replay_op op)
{
    struct replay_trace *trace = loader->trace;
    if (!MEM_GROW(trace->ops, trace->op_cap, trace->op_count + 1))
        return ERR_NOMEM;
    trace->ops[trace->op_count++] = op;
    return 0;
}

/* What became of segments before that event. */
static int put_returns(struct loader *loader, int64_t seq)
{
    enum replay_kind kind;
    if (!replay_returns_before(&loader->returns, seq, &kind))
        return 0;
    return put_op(loader, (struct replay_op){.block = (uint32_t)loader->trace->block_count,
                                             .kind = (uint8_t)kind});
}

/* All that came at or before event `seq`. */
static int put_coming(struct loader *loader, int64_t seq)
{
    int err = 0;
    while (err >= 0 && loader->count && loader->items[0].seq <= seq) {
        struct coming first = take_first(loader);
        /* A block becomes idle as a request begins, and only then may the cache go for it. */
        err = put_returns(loader, first.kind == REPLAY_IDLE ? first.seq - 1 : first.seq);
        if (err >= 0)
            err = put_op(loader,
                         (struct replay_op){.block = first.block, .kind = (uint8_t)first.kind});
    }
    return err;
}

/* ---- blocks ---- */

/* The seq of the block's IDLE, or -1. */
static int64_t idle_of(struct loader *loader, int64_t seq)
{
    while (loader->idles && loader->idle_allocation < seq)
        loader->idles = query_next(&loader->idle);
    return loader->idles && loader->idle_allocation == seq ? loader->idle_seq : -1;
}

struct row {
    int64_t seq, heap, requested, free_seq, segment;
    uint64_t address, size;
};

/* Its end, which may have come before the record; returns how the record found it. */
static int put_end(struct loader *loader, size_t block, int64_t seq, int64_t free_seq,
                   enum replay_state *state)
{
    int err = 0;
    int64_t until = loader->trace->rebuilt_until;
    int64_t idle = idle_of(loader, seq);
    bool waits = idle > free_seq && free_seq >= 0;
    *state = REPLAY_LIVING;
    if (free_seq <= seq) /* lives, or cannot be */
        return 0;
    if (free_seq > until)
        err = await(loader, free_seq, block, waits ? REPLAY_GIVE : REPLAY_FREE);
    else
        *state = waits && idle > until ? REPLAY_AWAITING : REPLAY_DEAD;
    if (err >= 0 && waits && idle > until)
        err = await(loader, idle, block, REPLAY_IDLE);
    return err;
}

static int put_adopted(struct replay_trace *trace, uint64_t size, uint64_t asked, uint16_t heap,
                       enum replay_state state)
{
    if (!MEM_GROW(trace->adopted_blocks, trace->adopted_cap, trace->adopted + 1))
        return ERR_NOMEM;
    trace->adopted_blocks[trace->adopted++] = (struct replay_adopted){
        .size = size, .requested = asked, .heap = heap, .state = (uint8_t)state};
    trace->living_adopted += state != REPLAY_DEAD;
    trace->living_adopted_bytes += state != REPLAY_DEAD ? size : 0;
    return 0;
}

/* Births ascend, so only the first of a segment counts. */
static void use_segment(struct loader *loader, int64_t segment, int64_t seq)
{
    int64_t *used = &loader->used[(uint64_t)segment % USED_SEGMENTS];
    if (segment && *used == segment)
        return;
    *used = segment;
    replay_use_segment(loader->trace, segment, seq);
}

static int put_block(struct loader *loader, const struct row *row)
{
    struct replay_trace *trace = loader->trace;
    uint16_t heap = replay_find_heap(trace, row->heap, &loader->last_heap);
    if (heap == REPLAY_NO_HEAP)
        return 0;
    bool known = row->requested != QUERY_NONE;
    uint64_t asked = known ? (uint64_t)row->requested : row->size;
    size_t block = trace->block_count;
    enum replay_state state;

    if (replay_cannot_be(0, row->size) || replay_cannot_be(0, asked))
        return 0;
    int err = put_coming(loader, row->seq);
    if (err >= 0)
        err = put_returns(loader, row->seq);
    if (err >= 0 && block == UINT32_MAX)
        err = ERR_LIMIT;
    if (err >= 0 && !MEM_GROW(trace->blocks, trace->block_cap, block + 1))
        err = ERR_NOMEM;
    if (err < 0)
        return err;
    trace->without_request += !known;
    if (row->segment != QUERY_NONE)
        use_segment(loader, row->segment, row->seq);
    trace->blocks[trace->block_count++] =
        (struct replay_block){.seq = row->seq, .address = row->address};
    err = put_end(loader, block, row->seq, row->free_seq, &state);
    if (err >= 0 && row->seq <= trace->rebuilt_until)
        return put_adopted(trace, row->size, asked, heap, state);
    if (err >= 0)
        err = put_op(loader, (struct replay_op){.size = asked,
                                                .block = (uint32_t)block,
                                                .heap = heap,
                                                .kind = REPLAY_ALLOC});
    return err;
}

static int load_blocks(struct loader *loader, struct db *db, int64_t process)
{
    struct row row;
    loader->idle = query_ask(db, idle_sql, Q_IN(process),
                             Q_OUT(Q_INT(loader->idle_allocation), Q_INT(loader->idle_seq)));
    loader->idles = query_next(&loader->idle);
    struct query query =
        query_ask(db, blocks_sql, Q_IN(process),
                  Q_OUT(Q_INT(row.seq), Q_INT(row.heap), Q_ANY(row.address), Q_SIZE(row.size),
                        Q_OPT(row.requested), Q_INT(row.free_seq), Q_OPT(row.segment)));
    query_fail(&query, loader->idle.err);
    while (query_next(&query) && row.seq < loader->until) {
        query_fail(&query, put_block(loader, &row));
        query_fail(&query, loader->idle.err);
    }
    query_end(&loader->idle);
    int err = query_end(&query);
    if (err >= 0)
        err = put_coming(loader, loader->until);
    if (err >= 0 && loader->until == INT64_MAX)
        err = put_returns(loader, INT64_MAX);
    return err;
}

/* The request that was refused: of the heap that was asked last, for its own is not recorded. */
static int put_refused_request(struct loader *loader, uint64_t bytes)
{
    struct replay_trace *trace = loader->trace;
    size_t block = trace->block_count;
    uint16_t heap = 0;
    if (trace->heap_count == 0 || replay_cannot_be(0, bytes))
        return ERR_NOTFOUND;
    if (block == UINT32_MAX)
        return ERR_LIMIT;
    if (!MEM_GROW(trace->blocks, trace->block_cap, block + 1))
        return ERR_NOMEM;
    for (size_t i = trace->op_count; i-- > 0;) {
        if (trace->ops[i].kind != REPLAY_ALLOC)
            continue;
        heap = trace->ops[i].heap;
        break;
    }
    trace->blocks[trace->block_count++] = (struct replay_block){.seq = loader->until};
    return put_op(loader,
                  (struct replay_op){.size = bytes, .block = (uint32_t)block, .heap = heap});
}

static int load(struct loader *loader, struct db *db, int64_t process, int64_t device)
{
    struct replay_trace *out = loader->trace;
    *out = (struct replay_trace){0};
    int err = load_heaps(db, process, device, out);
    if (err >= 0)
        err = load_settings(db, process, device, out);
    if (err >= 0)
        err = replay_load_segments(db, process, device, out);
    if (err >= 0)
        err = replay_returns_load(db, process, device, out, &loader->returns);
    if (err >= 0)
        err = load_blocks(loader, db, process);
    replay_sort_segments(out);
    if (err >= 0)
        err = replay_find_ranges(out);
    out->refusals = loader->returns.refused;
    return err;
}

/* Rows of a damaged file may come in another order than the query says. */
static int finish(struct loader *loader, int err)
{
    if (err >= 0 && !replay_trace_is_valid(loader->trace))
        err = ERR_CORRUPT;
    replay_returns_clear(&loader->returns);
    mem_free(loader->items);
    return err;
}

int replay_load(struct db *db, int64_t process, int64_t device, struct replay_trace *out)
{
    return replay_load_until(db, process, device, INT64_MAX, out);
}

int replay_load_until(struct db *db, int64_t process, int64_t device, int64_t last,
                      struct replay_trace *out)
{
    struct loader loader = {.trace = out, .until = last == INT64_MAX ? last : last + 1};
    return finish(&loader, load(&loader, db, process, device));
}

int replay_load_refused(struct db *db, int64_t process, int64_t device, int64_t seq, uint64_t bytes,
                        struct replay_trace *out)
{
    struct loader loader = {.trace = out, .until = seq};
    int err = load(&loader, db, process, device);
    if (err >= 0)
        err = put_refused_request(&loader, bytes);
    return finish(&loader, err);
}
