/*
 * Which changes stand first, where there is room for a few.
 */
#include "levers.h"

/* What it takes is time, another device, or another run. */
static bool costs(enum lever_kind kind)
{
    switch (kind) {
    case LEVER_HELD:
    case LEVER_GRADIENTS_TO_NONE:
    case LEVER_ZERO_GRAD_EARLIER:
    case LEVER_BUCKET_VIEW:
    case LEVER_FLATTEN_PARAMETERS:
    case LEVER_NO_CACHE:
    case LEVER_RETAIN_GRAPH:
    case LEVER_FUSED_OPERATION:
    case LEVER_FUSED_ATTENTION:
    case LEVER_CHANNELS_LAST:
    case LEVER_DETACH:
    case LEVER_BOUND:
    case LEVER_NO_GRAD:
    case LEVER_FUSED_OPTIMIZER:
    case LEVER_OPTIMIZER_IN_BACKWARD:
        return false;
    default:
        return true;
    }
}

/* It costs no time, and is neither an estimate nor a bound: del, a flag of zero_grad, a view. */
static bool is_free(const struct lever *lever)
{
    return levers_worth(lever) > 0 && !levers_is_bound(lever) && !levers_is_estimate(lever) &&
           !lever->changes && !costs(lever->kind);
}

/* Of those that change the training's numbers: FSDP's mixed precision is what its users do, and an
 * optimizer without state is another training. */
static int strangeness(const struct lever *lever)
{
    return lever->kind == LEVER_NO_STATES ? 2 : lever->kind == LEVER_MIXED_PRECISION ? 0 : 1;
}

/* What a checkpoint changes is how often BatchNorm has seen a batch: it stands before another dtype
 * or another batch that saves up to twice as much. */
static int64_t weight(const struct lever *lever)
{
    const bool again = lever->kind == LEVER_CHECKPOINT || lever->kind == LEVER_CHECKPOINT_HALF;
    return levers_worth(lever) * (again && lever->changes ? 2 : 1);
}

/* One that leaves the training's numbers as they are stands before one that does not, and a
 * promise before a bound of the same size. */
static bool is_better(const struct lever *lever, const struct lever *best)
{
    if (best && lever->changes != best->changes)
        return best->changes;
    if (best && lever->changes && strangeness(lever) != strangeness(best))
        return strangeness(lever) < strangeness(best);
    if (best && weight(lever) == weight(best))
        return levers_is_bound(best) && !levers_is_bound(lever);
    return !best || weight(lever) > weight(best);
}

/* A graph that the next step is made from needs retain_graph=True: once it is detached, the flag
 * keeps next to nothing, and both would read as twice the memory. Half of the checkpoints is less
 * of the same; of several that change the numbers one has a place among the few. */
static bool is_done_by(const struct lever *lever, const struct lever *better)
{
    return (lever->kind == LEVER_RETAIN_GRAPH && better->kind == LEVER_DETACH) ||
           (lever->kind == LEVER_CHECKPOINT && better->kind == LEVER_CHECKPOINT &&
            lever->changes) ||
           (lever->kind == LEVER_CHECKPOINT_HALF && better->kind == LEVER_CHECKPOINT &&
            !levers_is_bound(better));
}

/* The best but those before it, and those for which there is no device; of equals the one that
 * comes first, for it changes less of the training. NULL: there are no more. */
static const struct lever *largest(const struct levers *levers, const struct lever *const *before,
                                   size_t count, bool only_free)
{
    const struct lever *best = NULL;
    const int64_t least = levers->peak / 100; /* another rank may leave less than that */
    for (size_t i = 0; i < levers->count; i++) {
        const struct lever *lever = &levers->levers[i];
        bool taken = lever->kind == LEVER_TOGETHER || lever->elsewhere ||
                     levers_worth(lever) < least || levers_worth(lever) <= 0;
        for (size_t b = 0; b < count && !taken; b++)
            taken = before[b] == lever || is_done_by(lever, before[b]);
        if (!taken && (!only_free || is_free(lever)) && is_better(lever, best))
            best = lever;
    }
    return best;
}

size_t levers_best(const struct levers *levers, int64_t missing, size_t most,
                   const struct lever **best)
{
    const struct lever *plain = largest(levers, NULL, 0, true);
    size_t count = 0;
    bool any = false;
    while (count < most && (best[count] = largest(levers, best, count, false)))
        any = is_free(best[count++]) || any;
    if (!plain || any || !count)
        return count;
    bool enough = missing == LEVERS_NONE || levers_worth(plain) >= missing;
    if (enough || levers_worth(best[count - 1]) < missing)
        best[count - 1] = plain;
    return count;
}
