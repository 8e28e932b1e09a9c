/*
 * Levers on the workspaces that cuDNN's convolutions want, which PyTorch takes from its allocator
 * and frees at once.
 *
 * Kernels for tensor cores want channels last. Tensors in another layout are copied, and the copies
 * are the workspace: of 5,670 convolutions measured on a GPU (docs/gpu-profiles.md) those with
 * channels last wanted a tenth, and for the gradients of weights in fp32 three tenths, of what the
 * same ones wanted otherwise.
 *
 * With cudnn.benchmark all kernels are tried once for each shape, with room for the largest, and
 * the fastest is kept: such a workspace is there in the first step and never again.
 */
#include <stdio.h>

#include "error.h"
#include "human.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"

enum {
    PLANES = 2,
    OTHER = 1,
    STEPS_LEAST = 3,   /* in a shorter run every size may be there but once */
    FORWARD_SHARE = 10 /* of the bytes: with channels last a forward wants next to nothing */
};

struct convolutions {
    struct map modules;        /* of a class that convolves, to PLANES or OTHER */
    struct map later;          /* module and bytes of workspaces after the first step */
    struct map values;         /* and of all else that these modules make then */
    struct levers_edit planes; /* of two dimensions, without the trials */
    struct levers_edit trials;
    int64_t bytes, forward; /* of `planes` */
    int64_t largest;        /* of a trial */
};

/* Of one dimension there is no channels last; of three, gradients of weights in fp32 want as much.
 */
static const char modules_sql[] =
    "SELECT id, class GLOB '*2d*' AS planes FROM module WHERE class GLOB '*Conv[123]d*'"
    " OR class GLOB '*ConvTranspose[123]d*'";

static int read_modules(struct levers_work *work, struct convolutions *out)
{
    int64_t id, planes;
    struct query query =
        query_ask(work->seen.db, modules_sql, Q_NOTHING, Q_OUT(Q_INT(id), Q_INT(planes)));
    while (query_next(&query))
        if (!map_put(&out->modules, (uint64_t)id, planes ? PLANES : OTHER, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

/* No other block is born before it is freed. */
static bool is_workspace(const struct levers_step *step, size_t at, const struct convolutions *all)
{
    const struct levers_block *block = &step->blocks[at];
    return block->module != GROUP_NONE && block->end != LEVERS_NEVER &&
           (at + 1 == step->count || step->blocks[at + 1].seq > block->end) &&
           map_get(&all->modules, (uint64_t)block->module) != MAP_NONE;
}

static uint64_t like_of(const struct levers_block *block)
{
    return (uint64_t)block->module << 40 ^ (uint64_t)block->asked;
}

/* What is there once the first step is over. */
static int read_later(const struct levers_step *step, int64_t first_end, struct convolutions *out)
{
    for (size_t i = levers_first_from(step, first_end); i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        struct map *to = is_workspace(step, i, out) ? &out->later : &out->values;
        if (block->module != GROUP_NONE &&
            map_get(&out->modules, (uint64_t)block->module) != MAP_NONE &&
            !map_put(to, like_of(block), 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

/* The first step's, and its like is not there again, though the result that it was made for is, the
 * block before: inputs of another size would have another one. */
static bool is_trial(const struct levers_step *step, size_t at, int64_t first_end,
                     const struct convolutions *all)
{
    enum { BEFORE = 4 }; /* other trials for the same result */
    const struct levers_block *block = &step->blocks[at];
    bool again = false;
    if (block->seq >= first_end || step->last - step->first < STEPS_LEAST - 1 ||
        map_get(&all->later, like_of(block)) != MAP_NONE)
        return false;
    for (size_t i = at; i > 0 && at - i < BEFORE && !again; i--)
        again = step->blocks[i - 1].module == block->module &&
                map_get(&all->values, like_of(&step->blocks[i - 1])) != MAP_NONE;
    return again;
}

/* Where the first optimizer's step is over: what is tried, was tried by then. */
static int64_t end_of_first(const struct levers_step *step)
{
    const struct levers_phase *phase =
        levers_phase_after(&step->phases, LEVERS_OPTIMIZER, step->begin - 1);
    return phase && phase->end != LEVERS_NEVER ? phase->end : step->begin;
}

static int sort(const struct levers_step *step, struct convolutions *out)
{
    int64_t first_end = end_of_first(step);
    if (read_later(step, first_end, out) < 0)
        return ERR_NOMEM;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_workspace(step, i, out))
            continue;
        bool tried = is_trial(step, i, first_end, out);
        bool plane = map_get(&out->modules, (uint64_t)block->module) == PLANES;
        if ((tried || plane) &&
            !levers_cut(tried ? &out->trials : &out->planes, i, INT64_MIN, LEVERS_NEVER))
            return ERR_NOMEM;
        if (tried)
            out->largest = block->size > out->largest ? block->size : out->largest;
        if (tried || !plane)
            continue;
        out->bytes += block->size;
        if (levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq))
            out->forward += block->size;
    }
    return 0;
}

static int try_channels_last(struct levers_work *work, struct convolutions *all)
{
    static const struct levers_words words = {
        .kind = LEVER_CHANNELS_LAST,
        .at_most = true,
        .site = LEVERS_NONE,
        .before = "memory_format=torch.channels_last for model and inputs (model.to(...), "
                  "x.to(...)): cuDNN's convolutions then copy fewer tensors"};
    if (!all->planes.count || all->forward < all->bytes / FORWARD_SHARE)
        return 0;
    return levers_try(work, &all->planes, &words);
}

/* The window begins with the run. */
static int has_first_step(struct levers_work *work, bool *yes)
{
    int64_t first = QUERY_NONE;
    int err = query_read(work->seen.db, "SELECT min(step) AS first FROM phase WHERE process = ?1",
                         Q_IN(work->seen.peak->process), Q_OUT(Q_OPT(first)));
    *yes = first == work->seen.step.first;
    return err;
}

static int try_no_benchmark(struct levers_work *work, struct convolutions *all)
{
    char text[200], bytes[HUMAN_MAX];
    bool first = false;
    int err = all->trials.count ? has_first_step(work, &first) : 0;
    if (err < 0 || !first)
        return err;
    snprintf(
        text, sizeof text,
        "torch.backends.cudnn.benchmark = False: in the first step cuDNN tries kernels with up "
        "to %s of workspace",
        human_bytes(bytes, all->largest));
    const struct levers_words words = {
        .kind = LEVER_NO_BENCHMARK, .estimated = true, .site = LEVERS_NONE, .before = text};
    return levers_try(work, &all->trials, &words);
}

int levers_convolution(struct levers_work *work)
{
    struct convolutions all = {0};
    int err = work->seen.on_host ? 0 : read_modules(work, &all);
    if (err >= 0 && !work->seen.on_host)
        err = sort(&work->seen.step, &all);
    if (err >= 0)
        err = try_no_benchmark(work, &all);
    if (err >= 0)
        err = try_channels_last(work, &all);
    levers_edit_clear(&all.planes);
    levers_edit_clear(&all.trials);
    map_clear(&all.later);
    map_clear(&all.values);
    map_clear(&all.modules);
    return err;
}
