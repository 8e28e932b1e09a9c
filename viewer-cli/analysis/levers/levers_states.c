/*
 * Levers on the state that an optimizer keeps: fewer bytes of it, another place, or none.
 */
#include "error.h"
#include "levers_work.h"

/* Eight bits for 32, and a float for each 256 of them; small tensors are left as they are. */
static int64_t of_eight_bits(const struct levers_step *step, const struct levers_block *block)
{
    (void)step;
    return block->purpose == PURPOSE_OPTIMIZER_STATE && block->asked >= 4096 * 4 ? 254 : 1000;
}

static int64_t without_states(const struct levers_step *step, const struct levers_block *block)
{
    (void)step;
    return block->purpose == PURPOSE_OPTIMIZER_STATE ? 0 : 1000;
}

/* With its state, the optimizer's temporaries are elsewhere. */
static int64_t offloaded(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_phase *phase =
        levers_phase_around(&step->phases, LEVERS_OPTIMIZER, block->seq);
    bool temporary = phase && block->end <= phase->end && block->purpose != PURPOSE_LIBRARY;
    return block->purpose == PURPOSE_OPTIMIZER_STATE || temporary ? 0 : 1000;
}

/* What FSDP keeps of parameters between gathers, and all that belongs to these. */
static int64_t offloaded_shards(const struct levers_step *step, const struct levers_block *block)
{
    bool shard = block->purpose == PURPOSE_PARAMETER || block->purpose == PURPOSE_GRADIENT;
    return shard && block->tagged ? 0 : offloaded(step, block);
}

static int try_offload_shards(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_OFFLOAD_SHARDS,
        .estimated = true,
        .site = LEVERS_NONE,
        .before = "fully_shard(..., offload_policy=CPUOffloadPolicy()) (FSDP1: "
                  "CPUOffload(offload_params=True)): parameters, gradients and optimizer state in "
                  "the host's memory"};
    if (work->on_host || !work->shards)
        return 0;
    return levers_try_scaled(work, offloaded_shards, &words);
}

int levers_states(struct levers_work *work)
{
    struct levers_words words = {.estimated = true, .site = LEVERS_NONE, .changes = true};
    words.kind = LEVER_EIGHT_BIT_STATES;
    words.before = work->shards ? "torchao.optim.AdamW8bit(...): optimizer state in 8 bits"
                                : "bitsandbytes.optim.AdamW8bit(...): optimizer state in 8 bits";
    words.before = levers_in_loop(work->loop, words.kind, words.before);
    bool reduced = false;
    int err = levers_has_reduced_states(work, &reduced);
    if (err >= 0 && !reduced)
        err = levers_try_scaled(work, of_eight_bits, &words);
    words.kind = LEVER_NO_STATES;
    words.before = levers_in_loop(
        work->loop, words.kind, "an optimizer without state, as torch.optim.SGD(..., momentum=0)");
    if (err >= 0)
        err = levers_try_scaled(work, without_states, &words);
    words.changes = false;
    words.kind = LEVER_OFFLOAD_STATES;
    words.before = "optimizer state and optimizer.step() in the host's memory (CPU offload): "
                   "torchao.optim.CPUOffloadOptimizer(model.parameters(), type(optimizer), lr=...)";
    bool clips = true;
    if (err >= 0)
        err = levers_clips(work, &clips);
    if (err >= 0 && !work->on_host && !work->shards && !clips)
        err = levers_try_scaled(work, offloaded, &words);
    return err < 0 ? err : try_offload_shards(work);
}
