/*
 * Who is in the segments at an instant: the blocks that live, as living.h finds them, and those
 * that were given back before and became idle after it, from table idle.
 *
 * An allocator's history tells the latter only as "at or before": where an address was handed out
 * again meanwhile, the block that lives there has it.
 */
#include "frag_block.h"

#include <stdlib.h>

#include "error.h"
#include "living.h"
#include "mem.h"
#include "query.h"
#include "span.h"

/* ---- what lives ---- */

static bool put_block(struct frag *frag, const struct frag_block *block)
{
    if (!MEM_GROW(frag->blocks, frag->block_cap, frag->block_count + 1))
        return false;
    frag->blocks[frag->block_count++] = *block;
    return true;
}

static bool add_living(void *self, const struct living_block *living)
{
    struct frag *frag = self;
    struct frag_block block = {
        .address = (uint64_t)living->address,
        .size = living->size,
        .requested = living->requested,
        .site = living->site,
        .phase = living->phase,
        .seq = living->seq,
        .purpose = living->purpose,
    };
    return put_block(frag, &block);
}

/* ---- what waits ---- */

/* Rows of table idle up to the instant, by their key; of them few are still to become idle. */
static const char waiting_sql[] =
    "SELECT a.seq, a.address, a.size, a.requested, a.site FROM idle i"
    " CROSS JOIN allocation a ON a.seq = i.allocation CROSS JOIN heap h ON h.id = a.heap"
    " WHERE i.allocation BETWEEN " SPAN_FIRST
    " AND ?3 AND i.seq > ?3 AND a.free_seq >= 0 AND a.free_seq <= ?3"
    "   AND h.process = ?1 AND h.device = ?2";

static int read_waiting(struct db *db, int64_t process, int64_t device, struct frag *frag)
{
    struct frag_block block = {.phase = FRAG_NONE, .waiting = true};
    struct query query = query_ask(db, waiting_sql, Q_IN(process, device, frag->seq),
                                   Q_OUT(Q_INT(block.seq), Q_ANY(block.address), Q_SIZE(block.size),
                                         Q_OPT(block.requested), Q_OPT(block.site)));
    while (query_next(&query))
        if (!put_block(frag, &block))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

static int by_address(const void *one, const void *other)
{
    const struct frag_block *a = one, *b = other;
    if (a->address != b->address)
        return a->address < b->address ? -1 : 1;
    if (a->waiting != b->waiting)
        return a->waiting ? 1 : -1;
    return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/* In two passes: upwards for what a living block below reaches into, downwards for what reaches
 * into a living block above. */
static void drop_taken(struct frag *frag)
{
    struct frag_block *blocks = frag->blocks;
    uint64_t limit = 0;
    for (size_t i = 0; i < frag->block_count; i++) {
        uint64_t end = blocks[i].address + (uint64_t)blocks[i].size;
        if (blocks[i].waiting && blocks[i].address < limit)
            blocks[i].size = 0;
        else if (!blocks[i].waiting && end > limit)
            limit = end;
    }
    limit = UINT64_MAX;
    for (size_t i = frag->block_count; i-- > 0;) {
        if (!blocks[i].waiting)
            limit = blocks[i].address;
        else if (blocks[i].address + (uint64_t)blocks[i].size > limit)
            blocks[i].size = 0;
    }
    size_t kept = 0;
    for (size_t i = 0; i < frag->block_count; i++)
        if (blocks[i].size > 0)
            blocks[kept++] = blocks[i];
    frag->block_count = kept;
}

int frag_read_blocks(struct db *db, int64_t process, int64_t device, struct frag *frag)
{
    int err = living_read(db, process, device, frag->seq, add_living, frag);
    if (err == 0)
        err = read_waiting(db, process, device, frag);
    if (err == 0 && frag->block_count) {
        qsort(frag->blocks, frag->block_count, sizeof *frag->blocks, by_address);
        drop_taken(frag);
    }
    return err;
}

/* The step that the instant is in, else the last one that had begun. */
int frag_read_step(struct db *db, int64_t process, int64_t seq, int64_t *step)
{
    *step = FRAG_NONE;
    return query_read(db,
                      "SELECT coalesce((SELECT ph.step FROM stretch st"
                      "   JOIN phase ph ON ph.id = st.phase"
                      "  WHERE st.process = ?1 AND st.begin_seq <= ?2"
                      "  ORDER BY st.begin_seq DESC LIMIT 1),"
                      " (SELECT max(step) FROM phase WHERE process = ?1 AND begin_seq <= ?2))"
                      " AS step",
                      Q_IN(process, seq), Q_OUT(Q_OPT(*step)));
}
