#include "derive.h"

#include <string.h>

#include "derive_types.h"
#include "ensure.h"
#include "error.h"
#include "keyframe.h"
#include "mem.h"
#include "pqueue.h"
#include "query.h"

#define ROWS_A_FLUSH 8192u
#define FLUSHES_A_COMMIT 32u

/* ---- rows ---- */

int derive_flush(struct derive *derive, bool all)
{
    struct batch *batch = derive->batch;
    if (batch->fact_count == 0 || (!all && batch->fact_count < ROWS_A_FLUSH))
        return 0;
    int err = writer_sink_write(derive->sink, batch);
    batch->fact_count = batch->cell_count = batch->text_count = 0;
    if (err == 0 && ++derive->flushes == FLUSHES_A_COMMIT) {
        derive->flushes = 0;
        err = db_commit(derive->options->out);
        err = err == 0 ? db_begin(derive->options->out) : err;
    }
    derive->from_out |= err < 0;
    return err;
}

/* ---- curves ---- */

static int64_t add_up(int64_t sum, int64_t change)
{
    int64_t out;
    if (__builtin_add_overflow(sum, change, &out))
        return change < 0 ? INT64_MIN : INT64_MAX;
    return out;
}

int derive_feed(struct derive *derive, struct derive_heap *heap, const char *quantity, int64_t ns,
                int64_t change)
{
    int64_t before = heap->value;
    if (!heap->curve && !(heap->curve = curve_new(heap->id, quantity)))
        return ERR_NOMEM;
    heap->value = add_up(heap->value, change);
    heap->last_ns = ns > heap->last_ns ? ns : heap->last_ns;
    curve_add(heap->curve, derive->batch, heap->last_ns, before, heap->value);
    return heap->curve->rows_lost ? ERR_NOMEM : 0;
}

int derive_end_curves(struct derive *derive)
{
    int err = 0;
    for (size_t i = 0; i < derive->heap_count && err == 0; i++) {
        struct derive_heap *heap = &derive->heaps[i];
        if (heap->curve) {
            curve_flush(heap->curve, derive->batch);
            err = heap->curve->rows_lost ? ERR_NOMEM : derive_flush(derive, false);
        }
        curve_free(heap->curve);
        heap->curve = NULL;
        heap->value = heap->last_ns = 0;
    }
    return err < 0 ? err : derive_flush(derive, true);
}

struct derive_heap *derive_heap(struct derive *derive, int64_t id)
{
    uint64_t at = map_get(&derive->heap_of, (uint64_t)id);
    return at == MAP_NONE ? NULL : &derive->heaps[at];
}

int derive_drop(struct derive *derive, int64_t heap, const char *quantity)
{
    int err = query_run(derive->options->out, "DELETE FROM curve WHERE heap=?1 AND quantity=?2",
                        Q_IN(heap, quantity));
    derive->from_out |= err < 0;
    return err;
}

/* ---- blocks that live: a heap by when they die ---- */

static bool dies_before(const struct derive_block *a, const struct derive_block *b)
{
    return a->free_seq < b->free_seq;
}

static bool push_block(struct derive *derive, const struct derive_block *block)
{
    if (!MEM_GROW(derive->blocks, derive->block_cap, derive->block_count + 1))
        return false;
    derive->blocks[derive->block_count++] = *block;
    PQUEUE_RISE(derive->blocks, derive->block_count - 1, dies_before);
    return true;
}

static struct derive_block pop_block(struct derive *derive)
{
    struct derive_block top = derive->blocks[0];
    derive->blocks[0] = derive->blocks[--derive->block_count];
    PQUEUE_SINK(derive->blocks, 0, derive->block_count, dies_before);
    return top;
}

bool derive_is_valid(const struct derive *derive)
{
    for (size_t i = 1; i < derive->block_count; i++)
        if (dies_before(&derive->blocks[i], &derive->blocks[(i - 1) / 2]))
            return false;
    return map_is_valid(&derive->heap_of);
}

/* ---- keyframes ---- */

static int next_frame(struct derive *derive, int64_t after)
{
    struct db_stmt *stmt = NULL;
    derive->frame_next = INT64_MAX;
    int err =
        db_prepare(derive->options->facts, &stmt, "SELECT min(seq) FROM keyframe WHERE seq > ?1");
    if (err == 0) {
        db_bind_int(stmt, 0, after);
        err = db_step_behind(stmt, after, &derive->frame_next);
    }
    if (err == ERR_CORRUPT)
        derive->result->broken = "keyframe";
    db_finalize(stmt);
    return err < 0 ? err : 0;
}

static int put_frame(struct derive *derive, int64_t seq)
{
    int err = 0;
    ENSURE_WHOLE(derive_is_valid(derive));
    for (size_t i = 0; i < derive->block_count && err == 0; i++) {
        const struct derive_block *block = &derive->blocks[i];
        if (seq > derive->heaps[block->heap].last_seq)
            continue;
        struct row_keyframe row = {.seq = seq, .allocation = block->seq};
        if (!batch_put_keyframe(derive->batch, &row))
            return ERR_NOMEM;
        derive->result->keyframe_rows++;
        err = derive_flush(derive, false);
    }
    derive->frame_at = seq;
    derive->result->keyframes++;
    return err;
}

/* The events up to `seq` have been, and the next one is `next`. */
static int frames_before(struct derive *derive, int64_t seq, int64_t next)
{
    const struct derive_options *options = derive->options;
    int err = 0;
    if (options->frames_as_told) {
        while (derive->frame_next < next && err == 0) {
            err = put_frame(derive, derive->frame_next);
            if (err == 0)
                err = next_frame(derive, derive->frame_next);
        }
        return err;
    }
    uint64_t least = options->keyframe_events ? options->keyframe_events : KEYFRAME_EVENTS;
    uint64_t wanted = derive->block_count * KEYFRAME_RATIO;
    if (seq < next && (uint64_t)(seq - derive->frame_at) >= (wanted > least ? wanted : least))
        err = put_frame(derive, seq);
    return err;
}

/* ---- one pass over the blocks ---- */

static int one_death(struct derive *derive)
{
    struct derive_block block = pop_block(derive);
    struct derive_heap *heap = &derive->heaps[block.heap];
    return heap->feeds ? derive_feed(derive, heap, "allocated", block.end_ns, -block.size) : 0;
}

/* Who dies by an event makes room before the block that the same event hands out. *seq: how far
 * the run has come. */
static int deaths_until(struct derive *derive, int64_t last, int64_t *seq)
{
    int err = 0;
    while (err == 0 && derive->block_count && derive->blocks[0].free_seq <= last) {
        int64_t now = derive->blocks[0].free_seq;
        err = frames_before(derive, *seq, now);
        if (err == 0)
            err = one_death(derive);
        *seq = now;
        if (err == 0)
            err = derive_flush(derive, false);
    }
    return err;
}

struct birth {
    int64_t seq, heap, size, alloc_ns, life_ns, free_seq;
};

static int one_birth(struct derive *derive, const struct birth *birth, int64_t *seq)
{
    struct derive_heap *heap = derive_heap(derive, birth->heap);
    struct derive_block block = {
        .seq = birth->seq, .size = birth->size, .free_seq = birth->free_seq};
    if (!heap) /* its row is lost, and with it what the block belongs to */
        return 0;
    block.heap = (uint32_t)(heap - derive->heaps);
    block.end_ns = add_up(birth->alloc_ns, birth->life_ns > 0 ? birth->life_ns : 0);
    if (block.free_seq < 0)
        block.free_seq = INT64_MAX;
    int err = deaths_until(derive, block.seq, seq);
    if (err == 0)
        err = frames_before(derive, *seq, block.seq);
    *seq = block.seq;
    if (err == 0 && heap->feeds)
        err = derive_feed(derive, heap, "allocated", birth->alloc_ns, block.size);
    if (err == 0 && !push_block(derive, &block))
        err = ERR_NOMEM;
    derive->result->blocks++;
    return err < 0 ? err : derive_flush(derive, false);
}

static int read_blocks(struct derive *derive)
{
    struct birth birth;
    int64_t seq = 0;
    int err = derive->options->frames_as_told ? next_frame(derive, INT64_MIN) : 0;
    if (err < 0)
        return err;
    struct query query =
        query_ask(derive->options->facts,
                  "SELECT seq, heap, size, alloc_ns, life_ns, free_seq"
                  " FROM allocation ORDER BY seq",
                  Q_NOTHING,
                  Q_OUT(Q_INT(birth.seq), Q_INT(birth.heap), Q_INT(birth.size),
                        Q_INT(birth.alloc_ns), Q_INT(birth.life_ns), Q_INT(birth.free_seq)));
    while (query_next(&query))
        query_fail(&query, one_birth(derive, &birth, &seq));
    err = query_end(&query);
    if (err >= 0)
        err = deaths_until(derive, INT64_MAX - 1, &seq);
    if (err == 0 && derive->options->frames_as_told)
        err = frames_before(derive, seq, INT64_MAX);
    return err < 0 ? err : derive_end_curves(derive);
}

/* ---- allocated ---- */

/* Is the curve of the heap to come from its blocks, or from its old rows? */
static int choose_allocated(struct derive *derive, struct derive_heap *heap)
{
    enum derive_way way = DERIVE_REBUILT;
    int err = 0;
    if (!derive->options->blocks_whole || heap->thinned)
        err = derive_old(derive, heap, "allocated", &way);
    if (err < 0)
        return err;
    heap->feeds = way == DERIVE_REBUILT || way == DERIVE_LOST;
    if (way == DERIVE_LOST)
        way = DERIVE_PART;
    if (heap->feeds)
        err = derive_drop(derive, heap->id, "allocated");
    derive->result->allocated[way]++;
    return err;
}

static int derive_allocated(struct derive *derive)
{
    int err = db_exec(derive->options->out, "DELETE FROM keyframe");
    derive->from_out |= err < 0;
    for (size_t i = 0; i < derive->heap_count && err == 0; i++)
        err = choose_allocated(derive, &derive->heaps[i]);
    return err < 0 ? err : read_blocks(derive);
}

/* ---- the whole ---- */

static int add_heap(struct derive *derive, const struct derive_heap *heap)
{
    if (!MEM_GROW(derive->heaps, derive->heap_cap, derive->heap_count + 1) ||
        !map_put(&derive->heap_of, (uint64_t)heap->id, derive->heap_count, NULL))
        return ERR_NOMEM;
    derive->heaps[derive->heap_count++] = *heap;
    return 0;
}

static int read_heaps(struct derive *derive)
{
    struct derive_heap heap = {0};
    struct query query = query_ask(
        derive->options->facts,
        "SELECT h.id, h.process, h.device,"
        " coalesce(CASE WHEN p.end_ns IS NOT NULL THEN p.last_seq END, 9223372036854775807)"
        "   AS last_seq,"
        " EXISTS(SELECT 1 FROM thinned t WHERE t.what = 'blocks' AND t.process = h.process)"
        "   AS thinned"
        " FROM heap h LEFT JOIN process p ON p.id = h.process ORDER BY h.id",
        Q_NOTHING,
        Q_OUT(Q_INT(heap.id), Q_INT(heap.process), Q_INT(heap.device), Q_ANY(heap.last_seq),
              Q_INT(heap.thinned)));
    while (query_next(&query))
        query_fail(&query, add_heap(derive, &heap));
    return query_end(&query);
}

static void clear(struct derive *derive)
{
    for (size_t i = 0; i < derive->heap_count; i++)
        curve_free(derive->heaps[i].curve);
    mem_free(derive->heaps);
    mem_free(derive->blocks);
    map_clear(&derive->heap_of);
    batch_free(derive->batch);
    writer_sink_free(derive->sink);
}

int derive_rebuild(const struct derive_options *options, struct derive_result *result,
                   bool *from_out)
{
    struct derive derive = {.options = options, .result = result, .batch = batch_new(false)};
    *result = (struct derive_result){0};
    int err = derive.batch ? writer_sink_new(&derive.sink, options->out) : ERR_NOMEM;
    if (err == 0)
        err = read_heaps(&derive);
    if (err == 0 && (err = db_begin(options->out)) < 0)
        derive.from_out = true;
    if (err == 0)
        err = derive_allocated(&derive);
    if (err == 0)
        err = derive_reserved(&derive);
    if (err == 0 && (err = db_commit(options->out)) < 0)
        derive.from_out = true;
    clear(&derive);
    if (err < 0 && db_in_transaction(options->out))
        db_rollback(options->out);
    *from_out = derive.from_out;
    return err;
}
