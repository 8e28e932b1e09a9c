#include "keyframe.h"

#include <assert.h>

#include "heap.h"
#include "ledger.h"

/* In the order of the pool and not of seq: sorting a million rows would keep the drain away from
 * the rings for longer than they last. */
static bool put_all(const struct keyframes *keyframes, const struct ledger *ledger,
                    const struct block_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        const struct block *block = &pool->blocks[i];
        struct row_keyframe row = {.seq = ledger->seq, .allocation = block->seq};
        if (block->state == BLOCK_LIVING && !batch_put_keyframe(ledger->batch, &row))
            return false;
        if (i % KEYFRAME_BEAT_ROWS == 0 && keyframes->beat)
            keyframes->beat(keyframes->context);
    }
    return true;
}

void keyframe_flush(struct keyframes *keyframes, const struct ledger *ledger,
                    const struct block_pool *pool, uint64_t events)
{
    uint64_t least = keyframes->events ? keyframes->events : KEYFRAME_EVENTS;
    uint64_t wanted = pool->living * KEYFRAME_RATIO;
    assert(events >= keyframes->at && pool->living <= pool->count);
    if (events - keyframes->at < (wanted > least ? wanted : least))
        return;
    struct batch_mark mark = batch_mark(ledger->batch);
    if (put_all(keyframes, ledger, pool))
        keyframes->at = events;
    else
        batch_back_to(ledger->batch, mark);
}
