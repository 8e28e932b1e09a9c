/*
 * Levers whose blocks were never seen: other numbers of bytes in each, or other places. All of them
 * are estimates: what is known of each block is its size, its kind and when it lived.
 */
#include <string.h>

#include "error.h"
#include "levers_work.h"
#include "mem.h"

/* Thousandths of a block that stay; 1000 = it is not changed. */
typedef int64_t (*share_of)(const struct levers_step *step, const struct levers_block *block);

static int scale(const struct levers_step *step, share_of share, struct levers_edit *edit)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        int64_t gone = block->size / 1000 * (1000 - share(step, block)) +
                       block->size % 1000 * (1000 - share(step, block)) / 1000;
        if (gone && !levers_extra(edit, -gone, block->seq, block->end))
            return ERR_NOMEM;
    }
    return 0;
}

static int try_scaled(struct levers_work *work, share_of share, enum lever_kind kind,
                      const char *text)
{
    const struct levers_words words = {
        .kind = kind, .estimated = true, .site = LEVERS_NONE, .before = text};
    struct levers_edit edit = {0};
    int err = scale(&work->step, share, &edit);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}

/* ---- optimizer states ---- */

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

int levers_states(struct levers_work *work)
{
    int err = try_scaled(work, of_eight_bits, LEVER_EIGHT_BIT_STATES,
                         "bitsandbytes.optim.AdamW8bit(...): optimizer state in 8 bits");
    if (err >= 0)
        err = try_scaled(work, without_states, LEVER_NO_STATES,
                         "an optimizer without state, as torch.optim.SGD(..., momentum=0), or its "
                         "state in the host's memory (CPU offload)");
    return err;
}

/* ---- loss in chunks ---- */

enum { CHUNKS = 8, LOGITS_LEAST = 20 };

static bool is_of_loss(const char *function)
{
    static const char *const names[] = {"cross_entropy", "crossentropyloss", "log_softmax",
                                        "logsoftmax"};
    return levers_is_one_of(function, names, sizeof names / sizeof *names);
}

/* The largest tensor that a loss over classes makes: as large as its logits. */
static int find_logits(struct levers_work *work, int64_t *asked)
{
    const struct levers_step *step = &work->step;
    struct map seen = {0};
    int err = 0;
    *asked = 0;
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        char *name = NULL, *shown = NULL;
        if (block->asked <= *asked || block->size < work->out->peak / LOGITS_LEAST ||
            block->site == GROUP_NONE || !levers_computes(&step->phases, block->seq) ||
            map_get(&seen, (uint64_t)block->site) == (uint64_t)block->asked)
            continue;
        err = site_names(work->db, block->site, &name, &shown);
        if (err >= 0 && name && is_of_loss(name))
            *asked = block->asked;
        if (err >= 0 && !map_put(&seen, (uint64_t)block->site, (uint64_t)block->asked, NULL))
            err = ERR_NOMEM;
        mem_free(name);
        mem_free(shown);
    }
    map_clear(&seen);
    return err;
}

/* Logits, their like and their gradients are made for a chunk of rows, and again in backward. */
int levers_chunked_loss(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_CHUNKED_LOSS,
        .estimated = true,
        .site = LEVERS_NONE,
        .before = "head and loss for an eighth of the rows at a time, each under "
                  "torch.utils.checkpoint.checkpoint, or a fused linear cross entropy"};
    const struct levers_step *step = &work->step;
    struct levers_edit edit = {0};
    int64_t logits;
    int err = find_logits(work, &logits);
    for (size_t i = step->older; i < step->count && err >= 0 && logits; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->asked == logits && block->purpose != PURPOSE_GRADIENT &&
            (levers_computes(&step->phases, block->seq) ||
             levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq)) &&
            !levers_extra(&edit, -(block->size - block->size / CHUNKS), block->seq, block->end))
            err = ERR_NOMEM;
    }
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}

/* ---- ranks ---- */

enum { RANKS = 2 };

/* With what a rank has of its own. */
static int64_t of_ranks(const struct levers_step *step, const struct levers_block *block)
{
    (void)step;
    return block->purpose == PURPOSE_OPTIMIZER_STATE ? 1000 / RANKS : 1000;
}

int levers_ranks(struct levers_work *work)
{
    return try_scaled(work, of_ranks, LEVER_SHARD_STATES,
                      "on 2 ranks, optimizer state shared out: torch.distributed.optim."
                      "ZeroRedundancyOptimizer, or fully_shard(model) for parameters and gradients "
                      "as well");
}

/* ---- half of a batch at a time ---- */

static bool is_like_a_parameter(const struct levers_work *work, int64_t asked)
{
    return map_get(&work->parameters, (uint64_t)asked) != MAP_NONE;
}

static int find_parameters(struct levers_work *work)
{
    const struct levers_step *step = &work->step;
    for (size_t i = 0; i < step->count; i++)
        if (step->blocks[i].purpose == PURPOSE_PARAMETER &&
            !map_put(&work->parameters, (uint64_t)step->blocks[i].asked, 1, NULL))
            return ERR_NOMEM;
    return 0;
}

/* What is made for the rows of a batch: all of forward and loss, and in backward what is not as
 * large as a parameter. */
static bool has_rows(const struct levers_work *work, const struct levers_block *block)
{
    const struct levers_phases *phases = &work->step.phases;
    if (block->purpose == PURPOSE_PARAMETER || block->purpose == PURPOSE_OPTIMIZER_STATE ||
        block->purpose == PURPOSE_GRADIENT || block->purpose == PURPOSE_BUCKET ||
        block->purpose == PURPOSE_LIBRARY || block->purpose == PURPOSE_COPY)
        return false;
    if (levers_computes(phases, block->seq))
        return true;
    return levers_phase_around(phases, LEVERS_BACKWARD, block->seq) &&
           !is_like_a_parameter(work, block->asked);
}

/* The second half finds the gradients of the first one, and adds to them. Where a step has several
 * backwards that is so already. */
static bool add_gradient(const struct levers_step *step, size_t at, struct levers_edit *edit)
{
    const struct levers_block *block = &step->blocks[at];
    const struct levers_phase *backward =
        levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq);
    const struct levers_phase *forward =
        backward ? levers_phase_before(&step->phases, LEVERS_FORWARD, backward->begin) : NULL;
    const struct levers_phase *next =
        backward ? levers_phase_after(&step->phases, LEVERS_BACKWARD, backward->begin) : NULL;
    int64_t added = at + 1 < step->count ? step->blocks[at + 1].seq + 1 : block->seq + 1;
    if (!forward || (next && next->step == backward->step && block->end > next->begin))
        return true;
    return levers_extra(edit, block->size, forward->begin, added);
}

int levers_half_batch(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_HALF_BATCH,
        .estimated = true,
        .site = LEVERS_NONE,
        .before = "half the micro-batch, and twice as many of them added up before "
                  "optimizer.step() (gradient accumulation)"};
    const struct levers_step *step = &work->step;
    struct levers_edit edit = {0};
    int err = find_parameters(work);
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        bool done = block->purpose == PURPOSE_GRADIENT ? add_gradient(step, i, &edit)
                    : has_rows(work, block)
                        ? levers_extra(&edit, -(block->size / 2), block->seq, block->end)
                        : true;
        err = done ? 0 : ERR_NOMEM;
    }
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
