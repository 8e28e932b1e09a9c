/*
 * A lever on a graph that backward does not let go of: retain_graph=True. Then most of what forward
 * kept for backward is there behind it, from many places, and no variable holds it one by one. A
 * backward that lets go of its own graph beside that retains nothing: the rest is the graph of a
 * forward without a backward, as of a validation whose losses are kept.
 */
#include "error.h"
#include "group.h"
#include "levers_work.h"
#include "mem.h"

enum { SITES_LEAST = 4, FREES = 4 }; /* it lets go: of more than one part in so many */

struct graph {              /* of the forwards before one backward */
    int64_t kept, retained; /* bytes that were live when backward began, and when it was over */
    struct map modules;     /* that it made something for */
    struct map sites;       /* of what is retained, of all of them */
};

static bool is_kept(const struct levers_block *block, const struct levers_phase *backward)
{
    return block->end > backward->begin &&
           (block->purpose == PURPOSE_HELD || block->purpose == PURPOSE_ACTIVATION);
}

/* It went through these; gradients of others are of another graph, as of a teacher's. */
static int find_modules(const struct levers_step *step, const struct levers_phase *backward,
                        struct graph *out)
{
    map_clear(&out->modules);
    for (size_t i = levers_first_from(step, backward->begin);
         i < step->count && step->blocks[i].seq <= backward->end; i++)
        if (step->blocks[i].module != GROUP_NONE &&
            !map_put(&out->modules, (uint64_t)step->blocks[i].module, 1, NULL))
            return ERR_NOMEM;
    return 0;
}

/* Where no module is known, it may be. */
static bool is_of_graph(const struct graph *graph, const struct levers_block *block)
{
    return block->module == GROUP_NONE || !graph->modules.count ||
           map_get(&graph->modules, (uint64_t)block->module) != MAP_NONE;
}

static int weigh(const struct levers_step *step, const struct levers_phase *backward,
                 struct graph *out)
{
    const struct levers_phase *before =
        levers_phase_before(&step->phases, LEVERS_BACKWARD, backward->begin);
    int err = find_modules(step, backward, out);
    if (err < 0)
        return err;
    for (size_t i = levers_first_from(step, before ? before->end : step->begin);
         i < step->count && step->blocks[i].seq < backward->begin; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_kept(block, backward) || !is_of_graph(out, block))
            continue;
        out->kept += block->size;
        if (block->purpose != PURPOSE_HELD)
            continue;
        out->retained += block->size;
        if (!map_put(&out->sites, (uint64_t)block->site, 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

/* Most of the bytes, of several places: of all backwards together, for what the last one leaves
 * goes with the program. */
static int retains(const struct levers_step *step, bool *out)
{
    const struct levers_phase_row *row = &step->phases.of[LEVERS_BACKWARD];
    struct graph graph = {0};
    int64_t kept = 0, retained = 0;
    int err = 0;
    for (size_t i = 0; i < row->count && err >= 0; i++) {
        const struct levers_phase *backward = &step->phases.phases[row->at[i]];
        if (backward->end == LEVERS_NEVER)
            continue;
        graph.kept = graph.retained = 0;
        err = weigh(step, backward, &graph);
        kept += graph.kept;
        if (graph.kept - graph.retained < graph.kept / FREES)
            retained += graph.retained;
    }
    *out = retained > kept / 2 && graph.sites.count >= SITES_LEAST;
    map_clear(&graph.sites);
    map_clear(&graph.modules);
    return err;
}

int levers_retain_graph(struct levers_work *work)
{
    const struct levers_words words = {
        .kind = LEVER_RETAIN_GRAPH,
        .estimated = true,
        .site = LEVERS_NONE,
        .before = "loss.backward() without retain_graph=True: most of what forward saved is still "
                  "live after backward"};
    const struct levers_step *step = &work->seen.step;
    struct levers_edit edit = {0};
    bool retained = false;
    int err = retains(step, &retained);
    for (size_t i = step->older; i < step->count && retained && err >= 0; i++) {
        const struct levers_phase *backward =
            levers_phase_after(&step->phases, LEVERS_BACKWARD, step->blocks[i].seq);
        if (step->blocks[i].purpose == PURPOSE_HELD && backward && backward->end != LEVERS_NEVER &&
            !levers_cut(&edit, i, backward->end, LEVERS_NEVER))
            err = ERR_NOMEM;
    }
    if (err >= 0 && edit.count)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    return err;
}
