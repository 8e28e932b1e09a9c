#include "keyframe.h"

#include "state_types.h"

/* In the order of the pool and not of seq: sorting a million rows would keep the drain away from
 * the rings for longer than they last. */
static bool put_all(struct state *state)
{
    for (size_t i = 0; i < state->pool.count; i++) {
        const struct block *block = &state->pool.blocks[i];
        if (block->state == BLOCK_LIVING &&
            !batch_put(state->ledger.batch, SCH_KEYFRAME, "ii", state->ledger.seq, block->seq))
            return false;
        if (i % KEYFRAME_BEAT_ROWS == 0 && state->beat)
            state->beat(state->beat_context);
    }
    return true;
}

void keyframe_beat(struct state *state, void (*beat)(void *context), void *context)
{
    state->beat = beat;
    state->beat_context = context;
}

void keyframe_flush(struct state *state)
{
    uint64_t least = state->options.keyframe_events;
    uint64_t wanted = state->pool.living * KEYFRAME_RATIO;
    if (state->events - state->keyframe_at < (wanted > least ? wanted : least))
        return;
    struct batch_mark mark = batch_mark(state->ledger.batch);
    if (put_all(state))
        state->keyframe_at = state->events;
    else
        batch_back_to(state->ledger.batch, mark);
}
