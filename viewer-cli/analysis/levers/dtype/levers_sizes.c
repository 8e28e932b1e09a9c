/*
 * levers_sizes.c - what blocks have less in bfloat16, and what they have beyond what was asked for:
 * see levers_dtypes.h.
 */
#include "error.h"
#include "group.h"
#include "levers_dtypes.h"

/* Of PyTorch's allocator: sizes are multiples of GRANULARITY; of a block above SPLIT less than that
 * is not split off. */
enum { GRANULARITY = 512, SPLIT = 1 << 20 };

/* Calls that ask for as much, most likely: of one site and of modules of one shape. */
static uint64_t call_of(const struct levers_dtypes *dtypes, const struct levers_block *block)
{
    uint64_t shape =
        block->module == GROUP_NONE ? MAP_NONE : map_get(&dtypes->shapes, (uint64_t)block->module);
    return shape ^ ((uint64_t)block->site * 0x9e3779b97f4a7c15u);
}

/* Of what a step computes. */
int levers_least_read(struct levers_seen *seen, struct levers_dtypes *out)
{
    const struct levers_step *step = &seen->step;
    for (size_t i = step->older; i < step->count && !seen->on_host; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->site != GROUP_NONE && block->size > SPLIT &&
            (uint64_t)block->size < map_get(&out->least, call_of(out, block)) &&
            levers_computes(&step->phases, block->seq) &&
            !map_put(&out->least, call_of(out, block), (uint64_t)block->size, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

static int64_t round_up(const struct levers_seen *seen, int64_t bytes)
{
    return seen->on_host ? bytes : (bytes + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
}

int64_t levers_half_of(const struct levers_seen *seen, const struct levers_block *block)
{
    return round_up(seen, block->asked) - round_up(seen, (block->asked + 1) / 2);
}

enum { RNN_LAYER = 8 << 20 };

/* What a workspace of cuDNN's RNNs has in every dtype. */
static int64_t rnn_constant(const struct levers_dtypes *dtypes, const struct levers_block *block,
                            bool sure)
{
    const int64_t room = block->asked / RNN_LAYER;
    uint64_t layers =
        block->module == GROUP_NONE ? MAP_NONE : map_get(&dtypes->layers, (uint64_t)block->module);
    int64_t count = layers != MAP_NONE && (int64_t)layers <= room ? (int64_t)layers
                    : sure                                        ? room
                                                                  : 1;
    return count * RNN_LAYER;
}

int64_t levers_half_of_computed(const struct levers_seen *seen, const struct levers_dtypes *dtypes,
                                const struct levers_block *block, bool sure)
{
    struct levers_block part = *block;
    enum levers_op op = levers_computes(&seen->step.phases, block->seq)
                            ? levers_op_made(dtypes, block)
                            : levers_op_of_module(dtypes, block);
    if (!seen->on_host && op == LEVERS_OP_RECURRENT && block->purpose == PURPOSE_WORKSPACE &&
        block->asked >= RNN_LAYER)
        part.asked -= rnn_constant(dtypes, block, sure);
    return levers_half_of(seen, &part);
}

/* A state of the optimizer of which it is not known what was asked for, and which is a little
 * larger than a parameter, is as that is, most likely: the rest goes whole, of which half goes with
 * the state's own half. */
static int64_t slack_of_state(const struct levers_seen *seen, const struct levers_block *state)
{
    const struct levers_step *step = &seen->step;
    int64_t like = 0;
    if (seen->on_host || state->asked <= SPLIT || state->asked != state->size ||
        levers_is_like_parameter(seen, state))
        return 0;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->purpose == PURPOSE_PARAMETER && block->asked < state->asked &&
            block->asked > like)
            like = block->asked;
    }
    return state->asked - like < SPLIT ? (state->asked - like) / 2 : 0;
}

int64_t levers_slack_of(const struct levers_seen *seen, const struct levers_dtypes *dtypes,
                        const struct levers_block *block)
{
    int64_t slack = block->size - round_up(seen, block->asked);
    if (slack > 0)
        return slack;
    if (block->purpose == PURPOSE_OPTIMIZER_STATE)
        return slack_of_state(seen, block);
    uint64_t least =
        block->site == GROUP_NONE ? MAP_NONE : map_get(&dtypes->least, call_of(dtypes, block));
    slack = least == MAP_NONE ? 0 : block->size - (int64_t)least;
    return slack > 0 && slack < SPLIT ? slack : 0;
}

bool levers_has_partial_sums(const struct levers_seen *seen, size_t at)
{
    enum { FLAGS_MOST = 64, SHORT = 4 }; /* beside the sums; events */
    const struct levers_step *step = &seen->step;
    const struct levers_block *block = &step->blocks[at], *flags = block + 1;
    return !seen->on_host && at >= step->older && at + 1 < step->count &&
           flags->seq == block->seq + 1 && flags->asked <= block->asked / FLAGS_MOST &&
           flags->site == block->site && flags->module == block->module &&
           block->end - 1 == flags->end && block->end - block->seq <= SHORT;
}

bool levers_is_like_parameter(const struct levers_seen *seen, const struct levers_block *block)
{
    return map_get(&seen->parameters, (uint64_t)block->asked) != MAP_NONE;
}
