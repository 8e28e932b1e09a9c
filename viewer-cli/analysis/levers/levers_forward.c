/*
 * Levers on what forward leaves for backward: checkpoints, and weights that are packed again.
 */
#include <string.h>

#include "error.h"
#include "levers_work.h"
#include "query.h"
#include "mem.h"

/* ---- checkpointing ---- */

enum { PARTS_MOST = 64, CHECKPOINTS_SHOWN = 3 };

/* A part of forward: a phase inside it, or the program's functions that its blocks come from. */
struct part {
    char *name;
    int64_t site; /* the largest of them; LEVERS_NONE for a phase */
    int64_t bytes, site_bytes;
    bool tried;
};

struct parts {
    struct part parts[PARTS_MOST];
    size_t count;
    struct map site_part; /* site to place */
};

static void parts_clear(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        mem_free(parts->parts[i].name);
    map_clear(&parts->site_part);
}

static struct part *part_named(struct parts *parts, const char *name, size_t bytes, int *err)
{
    for (size_t i = 0; i < parts->count; i++)
        if (strlen(parts->parts[i].name) == bytes && memcmp(parts->parts[i].name, name, bytes) == 0)
            return &parts->parts[i];
    if (parts->count == PARTS_MOST)
        return NULL;
    struct part *part = &parts->parts[parts->count];
    *part = (struct part){.name = mem_copy(name, bytes), .site = LEVERS_NONE};
    *err = part->name ? *err : ERR_NOMEM;
    parts->count += part->name != NULL;
    return part->name ? part : NULL;
}

static const struct levers_phase *forward_of(const struct levers_step *step,
                                             const struct levers_block *block)
{
    return levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq);
}

static bool is_activation(const struct levers_step *step, const struct levers_block *block)
{
    return block->purpose == PURPOSE_ACTIVATION && forward_of(step, block);
}

/* The user's phase right inside the forward that the block was born in. */
static const struct levers_phase *inner_phase(const struct levers_step *step,
                                              const struct levers_block *block)
{
    const struct levers_phase *forward = forward_of(step, block);
    size_t end = step->phases.count;
    size_t at = forward ? (size_t)(forward - step->phases.phases) : end;
    for (; at < end && step->phases.phases[at].begin <= block->seq; at++) {
        const struct levers_phase *phase = &step->phases.phases[at];
        if (phase->parent == forward->id && block->seq <= phase->end)
            return phase;
    }
    return NULL;
}

/* A site in short is "function (file:line) > function (file:line)", the program's own one first. */
static struct part *part_of_site(struct levers_work *work, struct parts *parts, int64_t site,
                                 int *err)
{
    char *name = NULL, *shown = NULL;
    struct part *part = NULL;
    *err = site_names(work->seen.db, site, &name, &shown);
    if (*err >= 0 && shown)
        part = part_named(parts, shown, strcspn(shown, " "), err);
    mem_free(name);
    mem_free(shown);
    return part;
}

static int add_site(struct levers_work *work, struct parts *parts, const struct group *group)
{
    int err = 0;
    struct part *part = part_of_site(work, parts, group->id, &err);
    if (!part)
        return err;
    part->bytes += group->bytes;
    if (group->bytes > part->site_bytes) {
        part->site_bytes = group->bytes;
        part->site = group->id;
    }
    return map_put(&parts->site_part, (uint64_t)group->id, (uint64_t)(part - parts->parts), NULL)
               ? 0
               : ERR_NOMEM;
}

static int find_phases(struct levers_work *work, struct parts *parts)
{
    const struct levers_step *step = &work->seen.step;
    int err = 0;
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_activation(step, block))
            continue;
        const struct levers_phase *phase = inner_phase(step, block);
        struct part *part =
            phase ? part_named(parts, phase->name, strlen(phase->name), &err) : NULL;
        if (part)
            part->bytes += block->size;
    }
    return err;
}

static int find_sites(struct levers_work *work, struct parts *parts)
{
    const struct levers_step *step = &work->seen.step;
    struct groups sites = {0};
    int err = 0;
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->site == GROUP_NONE || !is_activation(step, block))
            continue;
        struct group *group = groups_of(&sites, block->site);
        if (group)
            group->bytes += block->size;
        err = group ? 0 : ERR_NOMEM;
    }
    groups_sort(&sites);
    for (size_t i = 0; i < sites.count && i < 4 * PARTS_MOST && err >= 0; i++)
        err = add_site(work, parts, &sites.groups[i]);
    groups_clear(&sites);
    return err;
}

static bool is_in(const struct levers_step *step, const struct parts *parts, size_t part,
                  const struct levers_block *block)
{
    if (parts->parts[part].site != LEVERS_NONE)
        return map_get(&parts->site_part, (uint64_t)block->site) == part;
    const struct levers_phase *phase = inner_phase(step, block);
    return phase && strcmp(phase->name, parts->parts[part].name) == 0;
}

/* Once that part of forward is over, its inputs are enough; where it is over is known of phases.
 * One that is still open is never over. */
static int64_t over(const struct levers_step *step, const struct parts *parts, size_t part,
                    const struct levers_block *block)
{
    const struct levers_phase *phase =
        parts->parts[part].site == LEVERS_NONE ? inner_phase(step, block) : NULL;
    int64_t end = phase ? phase->end : block->seq;
    return end == LEVERS_NEVER ? end : end + 1;
}

static int try_part(struct levers_work *work, const struct parts *parts, size_t part)
{
    const struct levers_step *step = &work->seen.step;
    const struct levers_words words = {.kind = LEVER_CHECKPOINT,
                                       .at_most = true,
                                       .site = parts->parts[part].site,
                                       .before = "checkpoint ",
                                       .name = parts->parts[part].name};
    struct levers_edit edit = {0};
    int err = 0;
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (is_activation(step, block) && is_in(step, parts, part, block) &&
            !levers_cut(&edit, i, over(step, parts, part, block), LEVERS_NEVER))
            err = ERR_NOMEM;
    }
    if (err >= 0)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}

/* The largest that was not tried yet; of equal ones, as layers are, the first. */
static size_t next_part(struct parts *parts)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < parts->count; i++)
        if (!parts->parts[i].tried &&
            (best == SIZE_MAX || parts->parts[i].bytes > parts->parts[best].bytes))
            best = i;
    if (best != SIZE_MAX)
        parts->parts[best].tried = true;
    return best;
}

int levers_checkpoint_parts(struct levers_work *work)
{
    struct parts parts = {0};
    int err = find_phases(work, &parts);
    if (err >= 0 && !parts.count)
        err = find_sites(work, &parts);
    for (size_t i = 0; i < CHECKPOINTS_SHOWN && err >= 0; i++) {
        size_t part = next_part(&parts);
        if (part == SIZE_MAX)
            break;
        err = try_part(work, &parts, part);
    }
    parts_clear(&parts);
    return err;
}

/* ---- weights that are packed again ---- */

/* A frame of an RNN in the stack: other things have the size of the weights by accident. */
static const char rnn_sql[] =
    "SELECT 1 AS found FROM site s JOIN frame f ON f.id = s.frame"
    "  JOIN string n ON n.id IN (f.function, f.file)"
    " WHERE s.site = ?1 AND (n.text LIKE '%rnn%' OR n.text LIKE '%lstm%' OR n.text LIKE '%gru%')"
    " LIMIT 1";

static int comes_from_rnn(struct levers_work *work, int64_t site, bool *yes)
{
    bool found = false;
    int err = site == GROUP_NONE
                  ? 0
                  : query_read(work->seen.db, rnn_sql, Q_IN(site), Q_OUT(Q_INT(found)));
    *yes = found;
    return err;
}

/* All of them are in it, and little else; blocks of their own may be rounded more. What cuDNN keeps
 * for backward beside it can be nearly as large. */
static bool about(int64_t size, int64_t weights)
{
    return weights > 0 && size >= weights - weights / 50 && size <= weights + weights / 20 * 3;
}

/* As large as all parameters, or as those of one site, and these are not one block already. */
static bool as_weights(const struct levers_step *step, const struct groups *weights, int64_t all,
                       int64_t size)
{
    bool yes = about(size, all);
    for (size_t i = 0; i < weights->count && !yes; i++)
        yes = about(size, weights->groups[i].bytes);
    for (size_t i = 0; i < step->older && yes; i++)
        yes = step->blocks[i].purpose != PURPOSE_PARAMETER || !about(size, step->blocks[i].size);
    return yes;
}

static int weigh(const struct levers_step *step, struct groups *weights, int64_t *all)
{
    *all = 0;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->purpose != PURPOSE_PARAMETER)
            continue;
        struct group *group = groups_of(weights, block->site);
        if (!group)
            return ERR_NOMEM;
        group->bytes += block->size;
        *all += block->size;
    }
    return 0;
}

/* Born in forward, saved for backward, and in one block. */
static bool could_be_packed(const struct levers_step *step, const struct levers_block *block,
                            int64_t least)
{
    const struct levers_phase *backward;
    if (block->size < least || block->purpose == PURPOSE_HELD ||
        !levers_phase_around(&step->phases, LEVERS_FORWARD, block->seq))
        return false;
    backward = levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
    return !backward || (block->end > backward->begin && block->end <= backward->end);
}

static int try_packed(struct levers_work *work, const struct levers_block *like)
{
    const struct levers_words words = {
        .kind = LEVER_FLATTEN_PARAMETERS,
        .site = like->site,
        .before = "call flatten_parameters() once: weights are packed anew at each call of "};
    struct levers_edit edit = {0};
    int err = 0;
    for (size_t i = work->seen.step.older; i < work->seen.step.count && err >= 0; i++)
        if (work->seen.step.blocks[i].site == like->site &&
            work->seen.step.blocks[i].size == like->size &&
            !levers_cut(&edit, i, INT64_MIN, LEVERS_NEVER))
            err = ERR_NOMEM;
    if (err >= 0)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}

/* Each site and size is tried once, at its first block. */
int levers_flatten(struct levers_work *work)
{
    const struct levers_step *step = &work->seen.step;
    struct groups weights = {0}, tried = {0};
    int64_t all, least = work->out->peak / 100;
    int err = weigh(step, &weights, &all);
    for (size_t i = step->older; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        bool rnn;
        if (!could_be_packed(step, block, least) || !as_weights(step, &weights, all, block->size))
            continue;
        struct group *group = groups_of(&tried, block->site);
        if (!group)
            err = ERR_NOMEM;
        else if (group->blocks++ || (err = comes_from_rnn(work, block->site, &rnn)) < 0 || !rnn)
            continue;
        else
            err = try_packed(work, block);
    }
    groups_clear(&weights);
    groups_clear(&tried);
    return err;
}
