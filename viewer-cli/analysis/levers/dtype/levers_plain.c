/* levers_plain.c - see levers_plain.h. */
#include "levers_plain.h"

#include "error.h"
#include "group.h"

/* Numbers of Python's that a CPU has as tensors; and what is a row's sum, beside the row. */
enum { SCALAR = 16, ROW_LEAST = 8 };

static bool is_sum_of(const struct levers_seen *seen, const struct levers_block *block,
                      int64_t largest)
{
    return block->asked > SCALAR && block->asked <= largest / ROW_LEAST &&
           !levers_is_like_parameter(seen, block);
}

static bool is_same_call(const struct levers_block *one, const struct levers_block *other)
{
    return one->site == other->site && one->module == other->module;
}

/* Calls from the first block on; `after` is behind the call. */
static int read_call(struct levers_seen *seen, size_t at, size_t *after, struct levers_plain *out)
{
    const struct levers_step *step = &seen->step;
    const struct levers_block *first = &step->blocks[at];
    int64_t largest = 0;
    size_t end = at;
    for (; end < step->count && is_same_call(&step->blocks[end], first); end++)
        if (step->blocks[end].asked > largest)
            largest = step->blocks[end].asked;
    *after = end;
    for (size_t i = at; i < end; i++)
        if (is_sum_of(seen, &step->blocks[i], largest) &&
            !map_put(&out->sums, (uint64_t)first->site, 1, NULL))
            return ERR_NOMEM;
    return 0;
}

static int read_sums(struct levers_seen *seen, struct levers_plain *out)
{
    const struct levers_step *step = &seen->step;
    int err = 0;
    for (size_t i = step->older; i < step->count && err == 0;) {
        size_t after = i + 1;
        if (step->blocks[i].site != GROUP_NONE &&
            levers_phase_around(&step->phases, LEVERS_FORWARD, step->blocks[i].seq))
            err = read_call(seen, i, &after, out);
        i = after;
    }
    return err;
}

static bool is_product(enum levers_op op)
{
    return op == LEVERS_OP_MATRIX || op == LEVERS_OP_CONVOLUTION || op == LEVERS_OP_ATTENTION ||
           op == LEVERS_OP_RECURRENT;
}

static int read_products(struct levers_seen *seen, const struct levers_dtypes *dtypes,
                         struct levers_plain *out)
{
    const struct levers_step *step = &seen->step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *forward =
            is_product(levers_op_made(dtypes, block))
                ? levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq)
                : NULL;
        if (forward && !map_put(&out->behind, (uint64_t)forward->begin, (uint64_t)block->seq, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

static int read_modules(struct levers_seen *seen, const struct levers_dtypes *dtypes,
                        struct levers_plain *out)
{
    const struct levers_step *step = &seen->step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->module != GROUP_NONE && block->asked > SCALAR &&
            levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq) &&
            levers_op_made(dtypes, block) == LEVERS_OP_UNKNOWN &&
            !levers_is_plain(seen, dtypes, out, block) &&
            !map_put(&out->uncertain, (uint64_t)block->module, 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

int levers_plain_read(struct levers_seen *seen, const struct levers_dtypes *dtypes,
                      struct levers_plain *out)
{
    *out = (struct levers_plain){0};
    int err = read_sums(seen, out);
    if (err >= 0)
        err = read_products(seen, dtypes, out);
    return err < 0 ? err : read_modules(seen, dtypes, out);
}

void levers_plain_clear(struct levers_plain *plain)
{
    map_clear(&plain->sums);
    map_clear(&plain->behind);
    map_clear(&plain->uncertain);
}

bool levers_is_plain(const struct levers_seen *seen, const struct levers_dtypes *dtypes,
                     const struct levers_plain *plain, const struct levers_block *block)
{
    const struct levers_phase *forward =
        levers_phase_around(&seen->step.phases, LEVERS_FORWARD, block->seq);
    if (!forward || block->site == GROUP_NONE || !levers_is_own(dtypes, block) ||
        map_get(&plain->sums, (uint64_t)block->site) != MAP_NONE)
        return false;
    uint64_t last = map_get(&plain->behind, (uint64_t)forward->begin);
    return last != MAP_NONE && block->seq < (int64_t)last;
}

bool levers_is_of_plain(const struct levers_plain *plain, const struct levers_block *block)
{
    return block->module != GROUP_NONE &&
           map_get(&plain->uncertain, (uint64_t)block->module) == MAP_NONE;
}
