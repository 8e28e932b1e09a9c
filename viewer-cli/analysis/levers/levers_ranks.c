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
#include "search.h"

enum { RANKS_MOST = 4096, RANKS_DEFAULT = 2 };

struct shares {
    int64_t ranks, rank; /* rank < 0: that which gets most */
    int64_t all, own;    /* bytes of parameters */
    bool alone;          /* the program has one rank: those are some that it could have */
    struct map at_once;  /* sites of temporaries of all parameters */
};

/* A program of one process would be the rank that has most. */
static int read_rank(struct levers_work *work, struct shares *shares)
{
    int64_t ranks = 1, rank = -1; /* that the program has */
    int err = query_read(work->seen.db,
                         "SELECT coalesce(world_size, 1) AS ranks, coalesce(rank, -1) AS rank"
                         "  FROM process WHERE id = ?",
                         Q_IN(work->seen.peak->process), Q_OUT(Q_INT(ranks), Q_INT(rank)));
    shares->alone = ranks < 2;
    shares->ranks = ranks < 2 ? RANKS_DEFAULT : ranks > RANKS_MOST ? RANKS_MOST : ranks;
    shares->rank = ranks < 2 || rank >= shares->ranks ? -1 : rank;
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

static size_t most_of(const int64_t *loads, int64_t ranks)
{
    size_t most = 0;
    for (size_t i = 1; i < (size_t)ranks; i++)
        if (loads[i] > loads[most])
            most = i;
    return most;
}

static int deal(const int64_t *sizes, size_t count, struct shares *shares)
{
    int64_t *loads = mem_alloc((size_t)shares->ranks, sizeof *loads);
    if (!loads)
        return ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        loads[least_of(loads, shares->ranks)] += sizes[i];
        shares->all += sizes[i];
    }
    shares->own = loads[shares->rank < 0 ? most_of(loads, shares->ranks) : (size_t)shares->rank];
    mem_free(loads);
    return 0;
}

/* Bytes of the blocks of a kind that `is` takes, the largest first. */
struct sizes {
    int64_t *bytes;
    size_t count;
};

static bool is_state(const struct levers_step *step, const struct levers_block *block)
{
    (void)step;
    return block->purpose == PURPOSE_OPTIMIZER_STATE;
}

static bool is_parameter(const struct levers_step *step, const struct levers_block *block)
{
    return block->purpose == PURPOSE_PARAMETER && levers_at_peak(step, block);
}

static int read_sizes(const struct levers_step *step,
                      bool (*is)(const struct levers_step *step, const struct levers_block *block),
                      struct sizes *out)
{
    *out = (struct sizes){mem_alloc(step->count + 1, sizeof *out->bytes), 0};
    if (!out->bytes)
        return ERR_NOMEM;
    for (size_t i = 0; i < step->count; i++)
        if (is(step, &step->blocks[i]))
            out->bytes[out->count++] = step->blocks[i].asked;
    qsort(out->bytes, out->count, sizeof *out->bytes, by_size);
    return 0;
}

/* One that has no state of about its size is in no optimizer; an allocator may give a block that is
 * a little larger. */
static void drop_without_state(const struct sizes *states, struct sizes *parameters)
{
    size_t kept = 0;
    for (size_t i = 0; i < parameters->count; i++) {
        int64_t asked = parameters->bytes[i];
        size_t behind;
        SEARCH_FIRST(behind, 0, states->count, states->bytes[behind] >= asked / 2);
        if (behind && states->bytes[behind - 1] <= 2 * asked)
            parameters->bytes[kept++] = asked;
    }
    parameters->count = kept;
}

static int deal_parameters(const struct levers_step *step, struct shares *shares)
{
    struct sizes states = {0}, parameters = {0};
    int err = read_sizes(step, is_state, &states);
    if (err == 0)
        err = read_sizes(step, is_parameter, &parameters);
    if (err == 0) {
        drop_without_state(&states, &parameters);
        err = deal(parameters.bytes, parameters.count, shares);
    }
    mem_free(states.bytes);
    mem_free(parameters.bytes);
    return err;
}

/* Call sites are many more than names. */
static const char any_sql[] = "SELECT EXISTS(SELECT 1 FROM string"
                              "  WHERE text LIKE '\\_multi\\_tensor\\_%' ESCAPE '\\') AS named";

/* Of implementations that work on all parameters at once: others make temporaries for one after the
 * other, and the largest may be this rank's. */
static const char at_once_sql[] =
    "SELECT DISTINCT s.site FROM string n JOIN frame f ON f.function = n.id"
    "  JOIN site s ON s.frame = f.id WHERE n.text LIKE '\\_multi\\_tensor\\_%' ESCAPE '\\'";

static int read_at_once(struct db *db, struct map *sites)
{
    int64_t site;
    bool named = false;
    int err = query_read(db, any_sql, Q_NOTHING, Q_OUT(Q_INT(named)));
    if (err < 0 || !named)
        return err;
    struct query query = query_ask(db, at_once_sql, Q_NOTHING, Q_OUT(Q_INT(site)));
    while (query_next(&query))
        if (!map_put(sites, (uint64_t)site, 1, NULL))
            query_fail(&query, ERR_NOMEM);
    return query_end(&query);
}

static bool is_of_all(const struct levers_step *step, const struct levers_block *block,
                      const struct shares *shares)
{
    const struct levers_phase *phase =
        levers_phase_around(&step->phases, LEVERS_OPTIMIZER, block->seq);
    return phase && block->end <= phase->end && block->site != GROUP_NONE &&
           map_get(&shares->at_once, (uint64_t)block->site) != MAP_NONE;
}

static int64_t off_by_dealing(const struct levers_step *step, const struct levers_block *block,
                              const struct shares *shares)
{
    if (block->purpose != PURPOSE_OPTIMIZER_STATE && !is_of_all(step, block, shares))
        return 0;
    return (int64_t)((double)block->size * (double)(shares->all - shares->own) /
                         (double)shares->all +
                     0.5);
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
    int err = query_read(work->seen.db,
                         "SELECT EXISTS (SELECT 1 FROM string"
                         " WHERE text LIKE 'ZeroRedundancyOptimizer.%') AS yes",
                         Q_NOTHING, Q_OUT(Q_INT(*yes)));
    *yes = *yes || work->shards;
    return err;
}

/* The highest moment is in the optimizer then. It goes through its parameters in another order, the
 * largest first, and more of its temporaries may meet. */
static int is_in_optimizer(const struct levers_work *work, const struct levers_edit *edit,
                           bool *yes)
{
    int64_t highest, at;
    int err = levers_highest(&work->seen.step, edit, &highest, &at);
    *yes = err >= 0 && levers_phase_around(&work->seen.step.phases, LEVERS_OPTIMIZER, at);
    return err;
}

static int try_dealing(struct levers_work *work, struct shares *shares)
{
    char text[192];
    struct levers_words words = {
        .kind = LEVER_SHARD_STATES, .estimated = true, .site = LEVERS_NONE, .before = text};
    words.elsewhere = shares->alone;
    struct levers_edit edit = {0};
    snprintf(text, sizeof text,
             "on %d ranks, each with its part of the optimizer state: "
             "torch.distributed.optim.ZeroRedundancyOptimizer(model.parameters(), "
             "optimizer_class=...)",
             (int)shares->ranks);
    int err = share_out(&work->seen.step, shares, &edit);
    if (err >= 0)
        err = is_in_optimizer(work, &edit, &words.at_most);
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
        err = deal_parameters(&work->seen.step, &shares);
    if (err >= 0)
        err = read_at_once(work->seen.db, &shares.at_once);
    if (err >= 0 && shares.all)
        err = try_dealing(work, &shares);
    map_clear(&shares.at_once);
    return err;
}
