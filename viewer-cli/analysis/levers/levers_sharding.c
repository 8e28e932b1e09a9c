/*
 * Levers of programs whose ranks share a model: FSDP's parameters freed between forward and
 * backward, and FSDP in place of DistributedDataParallel.
 */
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"

/* ---- reshard_after_forward ---- */

/* What FSDP gathered for one module in a forward and kept into the backward behind it. */
struct gathered {
    size_t first, last; /* blocks; others may be between */
    const struct levers_phase *forward, *backward;
    int64_t module, bytes;
    int64_t done;  /* its part of forward is over */
    int64_t begin; /* of its part of backward */
    bool root;     /* all other modules are inside of it */
};

struct gathers { /* of one forward after the other */
    struct gathered *of;
    size_t count, cap;
    struct levers_places places;
};

static bool is_kept(const struct levers_step *step, size_t at, const struct levers_phase **forward,
                    const struct levers_phase **backward)
{
    const struct levers_block *block = &step->blocks[at];
    if (block->purpose != PURPOSE_GATHERED)
        return false;
    *forward = levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq);
    *backward = levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
    return *forward && *backward && block->end > (*backward)->begin;
}

/* FSDP works for one module at a time: whatever comes next is for another. */
static int64_t end_of_forward(const struct levers_step *step, const struct gathered *one)
{
    for (size_t i = one->last + 1; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->seq > one->forward->end)
            break;
        if ((block->purpose == PURPOSE_GATHERED || block->purpose == PURPOSE_COMMUNICATION) &&
            block->module != one->module)
            return block->seq;
    }
    return one->forward->end;
}

static int64_t begin_of_backward(const struct levers_step *step, const struct gathers *all,
                                 const struct gathered *one)
{
    for (size_t i = levers_first_from(step, one->backward->begin); i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->seq > one->backward->end)
            break;
        if (levers_place_is_inside(&all->places, block->module, one->module))
            return block->seq;
    }
    return one->backward->end;
}

static int take_gathered(struct gathers *all, const struct levers_step *step, size_t at,
                         const struct levers_phase *forward, const struct levers_phase *backward)
{
    const struct levers_block *block = &step->blocks[at];
    struct gathered *last = all->count ? &all->of[all->count - 1] : NULL;
    if (!last || last->forward != forward || last->module != block->module) {
        if (!MEM_GROW(all->of, all->cap, all->count + 1))
            return ERR_NOMEM;
        last = &all->of[all->count++];
        *last = (struct gathered){
            .first = at, .forward = forward, .backward = backward, .module = block->module};
    }
    last->last = at;
    last->bytes += block->size;
    return 0;
}

static int read_gathers(struct levers_work *work, struct gathers *all)
{
    const struct levers_step *step = &work->seen.step;
    const struct levers_phase *forward, *backward;
    int err = 0;
    for (size_t i = step->older; i < step->count && err >= 0; i++)
        if (step->blocks[i].module != GROUP_NONE && is_kept(step, i, &forward, &backward))
            err = take_gathered(all, step, i, forward, backward);
    if (err >= 0 && all->count)
        err = levers_places_read(work->seen.db, &all->places);
    for (size_t i = 0; i < all->count && err >= 0; i++) {
        struct gathered *one = &all->of[i];
        one->root = levers_place_is_outermost(&all->places, one->module);
        one->done = one->root ? one->forward->end : end_of_forward(step, one);
        one->begin = begin_of_backward(step, all, one);
    }
    return err;
}

/* By their backward, the outermost module first. */
static int by_backward(const void *one, const void *other)
{
    const struct gathered *a = one, *b = other;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return b->root - a->root;
}

/* Parameters come in one buffer, from which they are copied, and which is asked for when the module
 * before begins; a host's collectives make another of that size. */
static bool gather_again(const struct levers_work *work, const struct gathered *one,
                         const struct gathered *before, struct levers_edit *edit)
{
    int64_t from = before ? before->begin : one->begin;
    return levers_extra(edit, one->bytes, from, one->begin) &&
           levers_spike(edit, one->bytes, one->begin) &&
           (!work->seen.on_host || levers_spike(edit, one->bytes, from));
}

static int free_between(const struct levers_work *work, const struct gathers *all,
                        struct levers_edit *edit)
{
    const struct levers_step *step = &work->seen.step;
    for (size_t i = 0; i < all->count; i++) {
        const struct gathered *one = &all->of[i];
        bool follows = i && all->of[i - 1].backward == one->backward;
        for (size_t j = one->first; j <= one->last; j++)
            if (step->blocks[j].purpose == PURPOSE_GATHERED &&
                step->blocks[j].module == one->module &&
                !levers_cut(edit, j, one->done, one->begin))
                return ERR_NOMEM;
        if (!gather_again(work, one, follows ? one - 1 : NULL, edit))
            return ERR_NOMEM;
    }
    return 0;
}

/* The outermost module alone is kept by default, and on purpose: backward begins with it. */
static bool has_inner(const struct gathers *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (!all->of[i].root)
            return true;
    return false;
}

int levers_reshard(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_RESHARD,
        .estimated = true,
        .site = LEVERS_NONE,
        .before = "fully_shard(module, reshard_after_forward=True) for each module (FSDP1: "
                  "ShardingStrategy.FULL_SHARD): parameters are gathered again in backward"};
    struct gathers all = {0};
    struct levers_edit edit = {0};
    int err = read_gathers(work, &all);
    if (err >= 0 && has_inner(&all)) {
        qsort(all.of, all.count, sizeof *all.of, by_backward);
        err = free_between(work, &all, &edit);
        if (err >= 0)
            err = levers_try(work, &edit, &words);
    }
    levers_edit_clear(&edit);
    levers_places_clear(&all.places);
    mem_free(all.of);
    return err;
}

/* ---- FSDP in place of DistributedDataParallel ---- */

bool levers_see_shards(const struct levers_step *step)
{
    for (size_t i = 0; i < step->count; i++)
        if (step->blocks[i].purpose == PURPOSE_GATHERED)
            return true;
    return false;
}

static int read_ranks(struct levers_work *work, int64_t *ranks)
{
    *ranks = 1;
    return query_read(work->seen.db,
                      "SELECT coalesce(world_size, 1) AS ranks FROM process WHERE id = ?",
                      Q_IN(work->seen.peak->process), Q_OUT(Q_INT(*ranks)));
}

/* Bytes that go. Buckets are gradients, or a second copy of them. */
static int64_t off_by_sharing(const struct levers_block *block, int64_t ranks, bool views)
{
    switch (block->purpose) {
    case PURPOSE_BUCKET:
        return views ? block->size - block->size / ranks : block->size;
    case PURPOSE_PARAMETER:
    case PURPOSE_GRADIENT:
    case PURPOSE_OPTIMIZER_STATE:
        return block->size - block->size / ranks;
    default:
        return 0;
    }
}

/* gradient_as_bucket_view: no gradient has memory of its own. */
static bool has_views(const struct levers_step *step)
{
    int64_t gradients = 0;
    for (size_t i = 0; i < step->count; i++)
        if (step->blocks[i].purpose == PURPOSE_GRADIENT)
            gradients += step->blocks[i].size;
    return gradients < levers_bytes_of(step, PURPOSE_BUCKET) / 2;
}

static int share_out(const struct levers_step *step, int64_t ranks, struct levers_edit *edit)
{
    bool views = has_views(step);
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!levers_extra(edit, -off_by_sharing(block, ranks, views), block->seq, block->end))
            return ERR_NOMEM;
    }
    return 0;
}

int levers_fully_shard(struct levers_work *work)
{
    char text[192];
    const struct levers_words words = {.kind = LEVER_FULLY_SHARD,
                                       .anew = true,    /* no copies for buckets are made */
                                       .at_most = true, /* what is gathered again is not counted */
                                       .estimated = true,
                                       .site = LEVERS_NONE,
                                       .before = text};
    struct levers_edit edit = {0};
    int64_t ranks;
    int err = read_ranks(work, &ranks);
    if (err < 0 || ranks < 2 || !levers_bytes_of(&work->seen.step, PURPOSE_BUCKET))
        return err;
    snprintf(text, sizeof text,
             "torch.distributed.fsdp.fully_shard(...) of each layer and of the model in place of "
             "DistributedDataParallel: parameters, gradients and optimizer state shared out among "
             "%d ranks",
             (int)ranks);
    err = share_out(&work->seen.step, ranks, &edit);
    if (err >= 0)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
