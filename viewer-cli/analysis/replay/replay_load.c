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
#include "search.h"
#include "span.h"

static const char heaps_sql[] =
    "SELECT id, stream, pool FROM heap WHERE process = ?1 AND device = ?2 ORDER BY id";

static const char settings_sql[] =
    "SELECT key, value, value <> lag(value, 1, value) OVER (PARTITION BY key, device ORDER BY "
    "rowid)"
    " FROM setting WHERE process = ?1 AND (device = ?2 OR device IS NULL)"
    " ORDER BY device IS NULL DESC, rowid";

static const char device_sql[] =
    "SELECT kind, total_bytes FROM device WHERE ?1 IS NOT NULL AND id = ?2";

static const char blocks_sql[] =
    "SELECT seq, heap, address, size, requested, free_seq, segment FROM allocation"
    " WHERE" SPAN_HAS("seq") " AND ?2 IS NOT NULL ORDER BY seq";

static const char idle_sql[] =
    "SELECT allocation, seq FROM idle WHERE" SPAN_HAS("allocation") " AND ?2 IS NOT NULL"
                                                                    " ORDER BY allocation";

int replay_ask(struct db *db, const char *sql, int64_t process, int64_t device,
               struct db_stmt **out)
{
    int err = db_prepare(db, out, sql);
    if (err < 0)
        return err;
    db_bind_int(*out, 0, process);
    db_bind_int(*out, 1, device);
    return 0;
}

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
    struct db_stmt *row = NULL;
    int err = replay_ask(db, heaps_sql, process, device, &row);
    while (err >= 0 && (err = db_step(row)) == DB_ROW) {
        if (trace->heap_count == REPLAY_NO_HEAP)
            err = ERR_LIMIT;
        else if (!MEM_GROW(trace->heaps, trace->heap_cap, trace->heap_count + 1))
            err = ERR_NOMEM;
        if (err < 0)
            break;
        struct replay_heap heap = {.id = db_column_int(row, 0),
                                   .stream = (uint64_t)db_column_any(row, 1),
                                   .pool = (uint64_t)db_column_any(row, 2)};
        heap.name = heap.pool ? UINT64_MAX - trace->heap_count : heap.stream;
        trace->heaps[trace->heap_count++] = heap;
    }
    db_finalize(row);
    return err < 0 ? err : 0;
}

static bool keep_text(char **out, struct db_stmt *row, int at)
{
    mem_free(*out);
    *out = mem_copy(db_column_text(row, at), (size_t)db_column_bytes(row, at));
    return *out != NULL;
}

static int take_setting(struct replay_trace *trace, struct db_stmt *row)
{
    const char *key = db_column_text(row, 0);
    bool is_conf = strcmp(key, "alloc_conf") == 0, is_limit = strcmp(key, "limit") == 0;
    if ((is_conf || is_limit) && db_column_int(row, 2))
        trace->settings_changed = true;
    if (is_conf)
        return keep_text(&trace->conf, row, 1) ? 0 : ERR_NOMEM;
    if (strcmp(key, "allocator") == 0)
        return keep_text(&trace->allocator, row, 1) ? 0 : ERR_NOMEM;
    if (is_limit) {
        long long limit = strtoll(db_column_text(row, 1), NULL, 10);
        trace->limit = limit > 0 ? (uint64_t)limit : 0;
    }
    if (strcmp(key, "rebuilt_until") == 0)
        trace->rebuilt_until = strtoll(db_column_text(row, 1), NULL, 10);
    return 0;
}

static int load_settings(struct db *db, int64_t process, int64_t device, struct replay_trace *trace)
{
    struct db_stmt *row = NULL;
    int err = replay_ask(db, settings_sql, process, device, &row);
    while (err >= 0 && (err = db_step(row)) == DB_ROW && (err = take_setting(trace, row)) >= 0)
        ;
    db_finalize(row);
    row = NULL;
    if (err >= 0)
        err = replay_ask(db, device_sql, process, device, &row);
    if (err >= 0 && (err = db_step(row)) == DB_ROW) {
        trace->cpu = strcmp(db_column_text(row, 0), "cpu") == 0;
        uint64_t total = (uint64_t)db_column_int(row, 1);
        trace->total = total <= REPLAY_MOST ? total : 0;
    }
    db_finalize(row);
    return err < 0 ? err : 0;
}

/* ---- operations to come ---- */

struct coming {
    int64_t seq; /* it happened at or before this event */
    uint32_t block;
    uint32_t kind;
};

/* Invariant: `items` is a heap by is_before (pqueue.h). */
struct loader {
    struct replay_trace *trace;
    int64_t until; /* blocks from this event on are left out, and so are ends after it */
    struct coming *items;
    size_t count, cap;
    struct db_stmt *idle; /* on its next row, or NULL at the end */
    struct replay_returns returns;
    uint16_t last_heap;
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
static int64_t idle_of(struct loader *loader, int64_t seq, int *err)
{
    while (loader->idle && db_column_int(loader->idle, 0) < seq) {
        *err = db_step(loader->idle);
        if (*err == DB_ROW)
            continue;
        db_finalize(loader->idle);
        loader->idle = NULL;
        if (*err < 0)
            return -1;
    }
    if (!loader->idle || db_column_int(loader->idle, 0) != seq)
        return -1;
    return db_column_int(loader->idle, 1);
}

/* Its end, which may have come before the record; returns how the record found it. */
static int put_end(struct loader *loader, size_t block, int64_t seq, int64_t free_seq,
                   enum replay_state *state)
{
    int err = 0;
    int64_t until = loader->trace->rebuilt_until;
    int64_t idle = idle_of(loader, seq, &err);
    bool waits = idle > free_seq && free_seq >= 0;
    *state = REPLAY_LIVING;
    if (err < 0 || free_seq <= seq) /* lives, or cannot be */
        return err;
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

static int put_block(struct loader *loader, struct db_stmt *row)
{
    struct replay_trace *trace = loader->trace;
    uint16_t heap = replay_find_heap(trace, db_column_int(row, 1), &loader->last_heap);
    if (heap == REPLAY_NO_HEAP)
        return 0;
    int64_t seq = db_column_int(row, 0);
    uint64_t size = (uint64_t)db_column_size(row, 3);
    bool known = db_column_type(row, 4) != DB_NULL;
    uint64_t asked = known ? (uint64_t)db_column_int(row, 4) : size;
    size_t block = trace->block_count;
    enum replay_state state;

    if (replay_cannot_be(0, size) || replay_cannot_be(0, asked))
        return 0;
    int err = put_coming(loader, seq);
    if (err >= 0)
        err = put_returns(loader, seq);
    if (err >= 0 && block == UINT32_MAX)
        err = ERR_LIMIT;
    if (err >= 0 && !MEM_GROW(trace->blocks, trace->block_cap, block + 1))
        err = ERR_NOMEM;
    if (err < 0)
        return err;
    trace->without_request += !known;
    if (db_column_type(row, 6) != DB_NULL)
        replay_use_segment(trace, db_column_int(row, 6), seq);
    trace->blocks[trace->block_count++] =
        (struct replay_block){.seq = seq, .address = (uint64_t)db_column_any(row, 2)};
    err = put_end(loader, block, seq, db_column_int(row, 5), &state);
    if (err >= 0 && seq <= trace->rebuilt_until)
        return put_adopted(trace, size, asked, heap, state);
    if (err >= 0)
        err = put_op(loader, (struct replay_op){.size = asked,
                                                .block = (uint32_t)block,
                                                .heap = heap,
                                                .kind = REPLAY_ALLOC});
    return err;
}

static int load_blocks(struct loader *loader, struct db *db, int64_t process, int64_t device)
{
    struct db_stmt *row = NULL;
    int err = replay_ask(db, idle_sql, process, device, &loader->idle);
    if (err >= 0 && (err = db_step(loader->idle)) != DB_ROW) {
        db_finalize(loader->idle);
        loader->idle = NULL;
    }
    if (err >= 0)
        err = replay_ask(db, blocks_sql, process, device, &row);
    while (err >= 0 && (err = db_step(row)) == DB_ROW && db_column_int(row, 0) < loader->until &&
           (err = put_block(loader, row)) >= 0)
        ;
    if (err >= 0)
        err = put_coming(loader, loader->until);
    if (err >= 0 && loader->until == INT64_MAX)
        err = put_returns(loader, INT64_MAX);
    db_finalize(row);
    db_finalize(loader->idle);
    return err < 0 ? err : 0;
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
        err = load_blocks(loader, db, process, device);
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
    struct loader loader = {.trace = out, .until = INT64_MAX};
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
