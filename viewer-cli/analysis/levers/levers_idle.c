/*
 * A lever on calls inside of training steps that no backward goes through, as of a teacher without
 * torch.no_grad(): what they keep for one goes with their outputs.
 *
 * The proof is by module: a backward makes gradients for each module that it goes through, and
 * these know their module. One is idle if it ran in front of a backward of its step that has ended,
 * and no backward of the window made anything for it. Where the graph is retained or a variable
 * holds it, gradients are made all the same.
 *
 * A call is what idle modules of one model made in a row, in one forward.
 */
#include <string.h>

#include "buf.h"
#include "error.h"
#include "group.h"
#include "levers_models.h"
#include "levers_no_grad.h"
#include "map.h"
#include "mem.h"
#include "module_index.h"

enum {
    MODULES_LEAST = 2, /* that keep something: a module may have a backward that makes nothing */
    CONSUMED = 8       /* less than one part of so many goes in a backward */
};

struct idle_call {
    const struct levers_phase *phase;
    struct no_grad_call at;
    struct levers_part name; /* what the paths of its modules share */
    bool tried;
};

struct idle {
    struct no_grad no_grad;
    const struct levers_step *step;
    struct module_index modules;
    struct map worked; /* modules that a backward made something for */
    struct map idle;   /* modules that ran, and none of these */
    struct idle_call *calls;
    size_t count, cap;
    struct levers_part tried;
    struct map likes; /* of what the edit cuts: site and bytes */
};

static uint64_t like_of(const struct levers_block *block)
{
    return (uint64_t)block->site << 40 ^ (uint64_t)block->asked;
}

/* A backward goes through a part of it. */
static bool works(const struct idle *all, struct levers_part part)
{
    for (size_t i = 0; i < all->modules.count; i++) {
        const struct module_entry *entry = &all->modules.entries[i];
        if (levers_part_has(part, entry->path) &&
            map_get(&all->worked, (uint64_t)entry->id) != MAP_NONE)
            return true;
    }
    return false;
}

/* ---- calls ---- */

static const struct levers_phase *forward_at(const struct levers_step *step, int64_t seq)
{
    const struct levers_phase *phase = levers_phase_around(&step->phases, LEVERS_FORWARD, seq);
    if (!phase)
        phase = levers_phase_around(&step->phases, LEVERS_LOSS, seq);
    return phase && !phase->evaluates && phase->step != GROUP_NONE ? phase : NULL;
}

static int find_workers(struct idle *all)
{
    const struct levers_step *step = all->step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->module != GROUP_NONE &&
            (levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq) ||
             levers_phase_around(&step->phases, LEVERS_RECOMPUTE, block->seq)) &&
            !map_put(&all->worked, (uint64_t)block->module, 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

/* The block goes on with the last call, or begins one. */
static int take(struct idle *all, size_t at, const struct levers_phase *phase, const char *path,
                bool *open)
{
    struct idle_call *call = all->count ? &all->calls[all->count - 1] : NULL;
    if (!*open || call->phase != phase ||
        !levers_same_part(levers_model_of(call->name.path), levers_model_of(path))) {
        if (!MEM_GROW(all->calls, all->cap, all->count + 1))
            return ERR_NOMEM;
        call = &all->calls[all->count++];
        *call =
            (struct idle_call){.phase = phase, .at = {.first = at}, .name = {path, strlen(path)}};
        *open = true;
    }
    call->name = levers_part_around(call->name, path);
    call->at.after = at + 1;
    call->at.end = all->step->blocks[at].seq;
    return 0;
}

static int find_calls(struct idle *all)
{
    const struct levers_step *step = all->step;
    bool open = false;
    int err = 0;
    for (size_t i = step->older; i < step->count && err == 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *phase = forward_at(step, block->seq);
        const struct module_entry *module =
            block->module == GROUP_NONE ? NULL : module_index_at(&all->modules, block->module);
        if (!phase || (module && map_get(&all->worked, (uint64_t)module->id) != MAP_NONE))
            open = false;
        else if (module)
            err = take(all, i, phase, module->path, &open);
    }
    return err;
}

/* Most of it is there for nothing. */
static int is_graph(const struct idle *all, const struct idle_call *call, bool *yes)
{
    const struct levers_step *step = all->step;
    int64_t made = 0, kept = 0, consumed = 0;
    struct map modules = {0};
    int err = 0;
    for (size_t i = call->at.first; i < call->at.after && err == 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        made += no_grad_is_made(block) && !no_grad_is_scratch(step, i) ? block->size : 0;
        if (!no_grad_is_kept(&all->no_grad, &call->at, i))
            continue;
        kept += block->size;
        if (block->end != LEVERS_NEVER &&
            levers_phase_around(&step->phases, LEVERS_BACKWARD, block->end))
            consumed += block->size;
        if (block->module != GROUP_NONE && !map_put(&modules, (uint64_t)block->module, 1, NULL))
            err = ERR_NOMEM;
    }
    *yes = kept && kept >= made / NO_GRAD_SHARE && consumed <= kept / CONSUMED &&
           modules.count >= MODULES_LEAST;
    map_clear(&modules);
    return err;
}

static bool has_backward(const struct levers_step *step, const struct idle_call *call)
{
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, call->at.end);
    return backward && backward->end != LEVERS_NEVER && backward->step == call->phase->step;
}

/* The modules of calls with a backward behind them are idle. */
static int find_idle(struct idle *all)
{
    int err = 0;
    for (size_t i = 0; i < all->count && err == 0; i++) {
        const struct idle_call *call = &all->calls[i];
        err = no_grad_find_outputs(&all->no_grad, &call->at);
        for (size_t j = call->at.first; j < call->at.after && err == 0; j++) {
            const int64_t module = all->step->blocks[j].module;
            if (module != GROUP_NONE && has_backward(all->step, call) &&
                !map_put(&all->idle, (uint64_t)module, 1, NULL))
                err = ERR_NOMEM;
        }
    }
    return err;
}

static bool is_idle(const struct idle *all, const struct idle_call *call)
{
    for (size_t i = call->at.first; i < call->at.after; i++) {
        const int64_t module = all->step->blocks[i].module;
        if (module != GROUP_NONE && map_get(&all->idle, (uint64_t)module) == MAP_NONE)
            return false;
    }
    return true;
}

static int drop_others(struct idle *all)
{
    size_t kept = 0;
    int err = 0;
    for (size_t i = 0; i < all->count && err == 0; i++) {
        bool graph = false;
        if (is_idle(all, &all->calls[i]) && !works(all, all->calls[i].name))
            err = is_graph(all, &all->calls[i], &graph);
        if (graph)
            all->calls[kept++] = all->calls[i];
    }
    all->count = kept;
    return err;
}

/* ---- the lever ---- */

/* Of a call before the window, which left as much from the same place. */
static int cut_older(struct idle *all)
{
    const struct levers_step *step = all->step;
    for (size_t i = 0; i < step->older; i++)
        if (no_grad_is_made(&step->blocks[i]) &&
            map_get(&all->likes, like_of(&step->blocks[i])) != MAP_NONE &&
            !levers_cut(&all->no_grad.edit, i, step->begin, LEVERS_NEVER))
            return ERR_NOMEM;
    return 0;
}

static int make_edit(struct no_grad *no_grad, void *self)
{
    struct idle *all = self;
    int err = 0;
    levers_edit_clear(&no_grad->edit);
    map_clear(&all->likes);
    for (size_t i = 0; i < all->count && err >= 0; i++) {
        const struct idle_call *call = &all->calls[i];
        if (!levers_same_part(call->name, all->tried))
            continue;
        err = no_grad_cut(no_grad, &call->at);
        for (size_t j = call->at.first; j < call->at.after && err >= 0; j++)
            if (no_grad_is_kept(no_grad, &call->at, j) &&
                !map_put(&all->likes, like_of(&all->step->blocks[j]), 1, NULL))
                err = ERR_NOMEM;
    }
    return err < 0 ? err : cut_older(all);
}

static int try_name(struct idle *all, struct levers_part name)
{
    struct buf before = {0}, brief = {0};
    all->tried = name;
    buf_text(&before, "with torch.no_grad(): around ");
    buf_text(&brief, "torch.no_grad() around ");
    int err = levers_put_part(&all->modules, name, &before);
    if (err >= 0)
        err = levers_put_part(&all->modules, name, &brief);
    buf_text(&before, ": no backward goes through what it keeps for one");
    if (err >= 0 && before.broken)
        err = ERR_NOMEM;
    struct levers_words words = {.kind = LEVER_NO_GRAD,
                                 .site = LEVERS_NONE,
                                 .before = buf_string(&before),
                                 .brief = buf_string(&brief)};
    if (err >= 0)
        err = no_grad_try(&all->no_grad, make_edit, all, &words);
    buf_clear(&before);
    buf_clear(&brief);
    return err;
}

static int try_names(struct idle *all)
{
    int err = 0;
    for (size_t i = 0; i < all->count && err >= 0; i++) {
        if (all->calls[i].tried)
            continue;
        for (size_t j = i; j < all->count; j++)
            all->calls[j].tried |= levers_same_part(all->calls[j].name, all->calls[i].name);
        err = try_name(all, all->calls[i].name);
    }
    return err;
}

int levers_idle(struct levers_work *work)
{
    struct idle all = {.no_grad = {.work = work, .step = &work->seen.step},
                       .step = &work->seen.step};
    if (!all.step->phases.of[LEVERS_BACKWARD].count)
        return 0;
    int err = module_index_read(work->seen.db, &all.modules);
    if (err >= 0 && all.modules.count)
        err = find_workers(&all);
    if (err >= 0 && all.worked.count) /* else no gradient of the recording knows its module */
        err = find_calls(&all);
    if (err >= 0)
        err = find_idle(&all);
    if (err >= 0)
        err = drop_others(&all);
    if (err >= 0)
        err = try_names(&all);
    no_grad_clear(&all.no_grad);
    module_index_clear(&all.modules);
    map_clear(&all.worked);
    map_clear(&all.idle);
    map_clear(&all.likes);
    mem_free(all.calls);
    return err;
}
