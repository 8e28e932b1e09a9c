/*
 * Optimizer state shared out among ranks, as ZeroRedundancyOptimizer does it: whole parameters, the
 * largest first, each to the rank that has least so far. A state of a parameter is as large as
 * that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "error.h"
#include "levers_work.h"
#include "mem.h"
#include "query.h"

enum { RANKS_MOST = 4096, RANKS_DEFAULT = 2 };

/* By bytes that a parameter asked for. */
struct shares {
    int64_t ranks, rank;
    struct map all, own; /* how many there are, and how many this rank keeps */
};

static int64_t count_of(const struct map *map, int64_t asked)
{
    uint64_t count = map_get(map, (uint64_t)asked);
    return count == MAP_NONE ? 0 : (int64_t)count;
}

static bool count_one(struct map *map, int64_t asked)
{
    return map_put(map, (uint64_t)asked, (uint64_t)count_of(map, asked) + 1, NULL);
}

/* A program of one process would be the rank that has most. */
static int read_rank(struct levers_work *work, struct shares *shares)
{
    int64_t ranks = 1, rank = 0;
    int err = query_read(work->db,
                         "SELECT coalesce(world_size, 1) AS ranks, coalesce(rank, 0) AS rank"
                         "  FROM process WHERE id = ?",
                         Q_IN(work->peak->process), Q_OUT(Q_INT(ranks), Q_INT(rank)));
    shares->ranks = ranks < 2 ? RANKS_DEFAULT : ranks > RANKS_MOST ? RANKS_MOST : ranks;
    shares->rank = rank < 0 || rank >= shares->ranks ? 0 : rank;
    return err;
}

static int by_size(const void *one, const void *other)
{
    const int64_t *a = one, *b = other;
    return *a > *b ? -1 : *a < *b;
}

static size_t least_of(const int64_t *loads, int64_t ranks)
{
    size_t least = 0;
    for (size_t i = 1; i < (size_t)ranks; i++)
        if (loads[i] < loads[least])
            least = i;
    return least;
}

static int deal(const int64_t *sizes, size_t count, struct shares *shares)
{
    int64_t *loads = mem_alloc((size_t)shares->ranks, sizeof *loads);
    int err = loads ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < count && err == 0; i++) {
        size_t rank = least_of(loads, shares->ranks);
        loads[rank] += sizes[i];
        if (!count_one(&shares->all, sizes[i]) ||
            (rank == (size_t)shares->rank && !count_one(&shares->own, sizes[i])))
            err = ERR_NOMEM;
    }
    mem_free(loads);
    return err;
}

/* One that has no state of its size is in no optimizer. */
static int deal_parameters(const struct levers_step *step, struct shares *shares)
{
    struct map states = {0};
    int64_t *sizes = mem_alloc(step->count + 1, sizeof *sizes);
    size_t count = 0;
    int err = sizes ? 0 : ERR_NOMEM;
    for (size_t i = 0; i < step->count && err == 0; i++)
        if (step->blocks[i].purpose == PURPOSE_OPTIMIZER_STATE &&
            !map_put(&states, (uint64_t)step->blocks[i].asked, 1, NULL))
            err = ERR_NOMEM;
    for (size_t i = 0; i < step->count && err == 0; i++)
        if (step->blocks[i].purpose == PURPOSE_PARAMETER &&
            levers_at_peak(step, &step->blocks[i]) &&
            map_get(&states, (uint64_t)step->blocks[i].asked) != MAP_NONE)
            sizes[count++] = step->blocks[i].asked;
    if (count)
        qsort(sizes, count, sizeof *sizes, by_size);
    if (err == 0)
        err = deal(sizes, count, shares);
    map_clear(&states);
    mem_free(sizes);
    return err;
}

/* Of what the optimizer makes for parameters of the others it makes nothing. */
static int64_t off_by_dealing(const struct levers_step *step, const struct levers_block *block,
                              const struct shares *shares)
{
    const struct levers_phase *phase =
        levers_phase_around(&step->phases, LEVERS_OPTIMIZER, block->seq);
    bool temporary = phase && block->end <= phase->end && block->purpose != PURPOSE_LIBRARY;
    int64_t all = count_of(&shares->all, block->asked);
    if (block->purpose != PURPOSE_OPTIMIZER_STATE && !(temporary && all))
        return 0;
    if (!all)
        return block->size - block->size / shares->ranks;
    return block->size * (all - count_of(&shares->own, block->asked)) / all;
}

static int share_out(const struct levers_step *step, const struct shares *shares,
                     struct levers_edit *edit)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        int64_t off = off_by_dealing(step, block, shares);
        if (off && !levers_extra(edit, -off, block->seq, block->end))
            return ERR_NOMEM;
    }
    return 0;
}

/* By FSDP, or by the optimizer that is offered. */
static int is_shared_out(struct levers_work *work, bool *yes)
{
    *yes = false;
    int err = query_read(work->db,
                         "SELECT EXISTS (SELECT 1 FROM string"
                         " WHERE text LIKE 'ZeroRedundancyOptimizer.%') AS yes",
                         Q_NOTHING, Q_OUT(Q_INT(*yes)));
    *yes = *yes || levers_shards(work);
    return err;
}

static int try_dealing(struct levers_work *work, struct shares *shares)
{
    char text[192];
    const struct levers_words words = {
        .kind = LEVER_SHARD_STATES, .estimated = true, .site = LEVERS_NONE, .before = text};
    struct levers_edit edit = {0};
    snprintf(text, sizeof text,
             "on %d ranks, each with its part of the optimizer state: "
             "torch.distributed.optim.ZeroRedundancyOptimizer(model.parameters(), "
             "optimizer_class=...)",
             (int)shares->ranks);
    int err = share_out(&work->step, shares, &edit);
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}

int levers_ranks(struct levers_work *work)
{
    struct shares shares = {0};
    bool shared = false;
    int err = is_shared_out(work, &shared);
    if (err < 0 || shared)
        return err;
    err = read_rank(work, &shares);
    if (err >= 0)
        err = deal_parameters(&work->step, &shares);
    if (err >= 0)
        err = try_dealing(work, &shares);
    map_clear(&shares.all);
    map_clear(&shares.own);
    return err;
}
