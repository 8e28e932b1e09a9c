/*
 * Levers on workspaces: what a library takes for as long as it computes, and what cuBLAS keeps.
 */
#include "error.h"
#include "levers_sites.h"
#include "levers_work.h"

/* ---- a workspace ---- */

/* Nobody else made a block while it lived: it is no value that goes on to another operation. */
static bool is_alone(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_block *last = step->blocks + step->count;
    for (const struct levers_block *next = block + 1; next < last && next->seq < block->end; next++)
        if (next->site != block->site)
            return false;
    return true;
}

/* What is born and freed inside backward without being called a workspace are gradients on their
 * way: they are no smaller for another algorithm. An optimizer's have a lever of their own. */
static bool is_workspace(const struct levers_step *step, const struct levers_block *block)
{
    return block->purpose == PURPOSE_WORKSPACE &&
           (block->tagged || (!levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq) &&
                              !levers_phase_around(&step->phases, LEVERS_OPTIMIZER, block->seq) &&
                              is_alone(step, block)));
}

/* Nothing to be smaller: it goes altogether. */
static bool is_packed(const struct levers_work *work, int64_t site)
{
    for (size_t i = 0; i < work->out->count; i++)
        if (work->out->levers[i].kind == LEVER_FLATTEN_PARAMETERS &&
            work->out->levers[i].site == site)
            return true;
    return false;
}

int levers_workspace(struct levers_work *work)
{
    const struct levers_step *step = &work->seen.step;
    struct groups sites = {0};
    struct levers_edit edit = {0};
    int err = levers_group_sites(work, is_workspace, &sites);
    int64_t site = sites.count ? sites.groups[0].id : LEVERS_NONE;
    const struct levers_words words = {.kind = LEVER_WORKSPACE,
                                       .at_most = true,
                                       .site = site,
                                       .before = "a smaller workspace, or none, in ",
                                       .name = site == GROUP_NONE ? "the phase of the peak" : NULL};
    for (size_t i = 0; i < step->count && err >= 0 && sites.count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->site != site || !is_workspace(step, block))
            continue;
        if (!levers_cut(&edit, i, INT64_MIN, LEVERS_NEVER))
            err = ERR_NOMEM;
    }
    if (err >= 0 && sites.count && sites.groups[0].bytes >= work->out->peak / 20 &&
        !is_packed(work, site))
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    groups_clear(&sites);
    return err;
}

/* ---- what cuBLAS keeps ---- */

/* All of them: the setting is the process's. Without any the same results come more slowly. */
int levers_library_workspace(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_LIBRARY_WORKSPACE,
        .site = LEVERS_NONE,
        .before = "CUBLAS_WORKSPACE_CONFIG=:0:0 in the environment turns cuBLAS' workspaces off "
                  "(slower)"};
    const struct levers_step *step = &work->seen.step;
    struct levers_edit edit = {0};
    int err = 0;
    for (size_t i = 0; i < step->count && err >= 0; i++)
        if (step->blocks[i].purpose == PURPOSE_LIBRARY &&
            !levers_cut(&edit, i, INT64_MIN, LEVERS_NEVER))
            err = ERR_NOMEM;
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
