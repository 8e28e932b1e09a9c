/*
 * Levers that end blocks earlier, or leave them out: what the program holds on to, workspaces.
 *
 * Bytes that less than a hundredth of the peak depends on are not looked at more closely, so there
 * are at most a hundred groups, whatever the number of sites.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "error.h"
#include "levers_units.h"
#include "levers_work.h"
#include "mem.h"

enum { GROUPS_MOST = 16 };

/* Blocks that live at the peak and are of some kind, by site, largest first. */
static int group_sites(const struct levers_work *work,
                       bool (*is)(const struct levers_step *step, const struct levers_block *block),
                       struct groups *out)
{
    for (size_t i = 0; i < work->step.count; i++) {
        const struct levers_block *block = &work->step.blocks[i];
        if (!levers_at_peak(&work->step, block) || !is(&work->step, block))
            continue;
        struct group *group = groups_of(out, block->site);
        if (!group)
            return ERR_NOMEM;
        group->bytes += block->size;
        group->blocks++;
    }
    groups_sort(out);
    while (out->count && out->groups[out->count - 1].bytes < work->out->peak / 100)
        out->count--; /* nothing to free in those: they were never named */
    out->count = out->count > GROUPS_MOST ? GROUPS_MOST : out->count;
    return 0;
}

int64_t levers_bytes_of(const struct levers_step *step, enum purpose purpose)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < step->count; i++)
        if (step->blocks[i].purpose == purpose && levers_at_peak(step, &step->blocks[i]))
            bytes += step->blocks[i].size;
    return bytes;
}

/* ---- held by the program ---- */

/* What goes without a birth between goes with one variable: the answer of a model holds several. */
static size_t moment_of(const struct levers_step *step, const struct levers_block *block)
{
    return block->end == LEVERS_NEVER ? SIZE_MAX : levers_first_from(step, block->end);
}

static bool is_held(const struct levers_step *step, const struct levers_block *block)
{
    (void)step;
    return block->purpose == PURPOSE_HELD;
}

enum need { NEED_NONE, NEED_UNKNOWN, NEED_SURE };

struct variable {
    int64_t site;    /* the largest */
    struct map ends; /* moments at which its blocks go */
    struct map needs;
    bool unknown;
    size_t others; /* sites */
};

static int find_ends(const struct levers_step *step, struct variable *variable)
{
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (is_held(step, block) && block->site == variable->site && block->end != LEVERS_NEVER &&
            !map_put(&variable->ends, moment_of(step, block), 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

static bool is_of(const struct levers_step *step, const struct variable *variable,
                  const struct levers_block *block)
{
    return is_held(step, block) && (block->site == variable->site ||
                                    (block->end != LEVERS_NEVER &&
                                     map_get(&variable->ends, moment_of(step, block)) != MAP_NONE));
}

static const struct levers_block *made_of(const struct levers_step *step,
                                          const struct levers_block *block);

/* What autograd saved of an output goes with the output's gradient, once its node has run. Of the
 * last one of its size that is the first that backward makes; of another it is not known, and the
 * end of backward stands for it. */
static int64_t end_in_backward(const struct levers_step *step, const struct levers_block *block,
                               const struct levers_phase *backward)
{
    size_t at = levers_first_from(step, backward->begin);
    if (made_of(step, block))
        return backward->end;
    while (at < step->count && step->blocks[at].seq < backward->end &&
           step->blocks[at].asked < block->asked / 2)
        at++;
    return at < step->count && step->blocks[at].end < backward->end ? step->blocks[at].end
                                                                    : backward->end;
}

/* Born before a backward and alive behind it. Where autograd saved it, it goes no earlier than in
 * backward. `late`: what is not known was saved. */
static int let_go(struct levers_work *work, const struct variable *variable, bool late,
                  struct levers_edit *edit)
{
    const struct levers_step *step = &work->step;
    for (size_t i = 0; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (!is_of(step, variable, block))
            continue;
        uint64_t need = map_get(&variable->needs, (uint64_t)block->site);
        int64_t from = step->begin;
        if (i >= step->older) {
            const struct levers_phase *backward =
                levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
            if (!backward)
                continue;
            from = need == NEED_SURE              ? end_in_backward(step, block, backward)
                   : late && need == NEED_UNKNOWN ? backward->end
                                                  : backward->begin;
        }
        if (!levers_cut(edit, i, from, LEVERS_NEVER))
            return ERR_NOMEM;
    }
    return 0;
}

/* ---- what backward needs ---- */

struct levers_last levers_last_of(const char *function)
{
    static const char forward[] = ".forward";
    size_t end = strcspn(function, " "), tail = sizeof forward - 1;
    if (end > tail && strncmp(function + end - tail, forward, tail) == 0)
        end -= tail;
    size_t begin = end;
    while (begin > 0 && function[begin - 1] != '.')
        begin--;
    return (struct levers_last){function + begin, end - begin};
}

bool levers_is_one_of(const char *function, const char *const *names, size_t count)
{
    struct levers_last last = levers_last_of(function);
    if (last.bytes > 3 && strncmp(last.begin, "op_", 3) == 0)
        last = (struct levers_last){last.begin + 3, last.bytes - 3};
    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) == last.bytes && strncasecmp(last.begin, names[i], last.bytes) == 0)
            return true;
    return false;
}

/* Of these autograd saves the output. */
static bool saves_output(const char *function)
{
    static const char *const names[] = {"softmax", "log_softmax", "logsoftmax", "sigmoid",
                                        "tanh",    "relu",        "exp",        "sqrt"};
    return levers_is_one_of(function, names, sizeof names / sizeof *names);
}

/* And of these it does not save the input. */
static bool spares_input(const char *function)
{
    static const char *const names[] = {"softmax",       "log_softmax",      "logsoftmax", "relu",
                                        "cross_entropy", "crossentropyloss", "sigmoid",    "tanh"};
    return levers_is_one_of(function, names, sizeof names / sizeof *names);
}

/* What was made next of that size, before backward. */
static const struct levers_block *made_of(const struct levers_step *step,
                                          const struct levers_block *block)
{
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq);
    for (size_t i = levers_first_from(step, block->seq + 1);
         backward && i < step->count && step->blocks[i].seq < backward->begin; i++)
        if (step->blocks[i].asked >= block->asked / 2)
            return &step->blocks[i];
    return NULL;
}

static int ask_name(struct levers_work *work, int64_t site, bool (*is)(const char *function),
                    bool *yes)
{
    char *name = NULL, *shown = NULL;
    int err = site_names(work->db, site, &name, &shown);
    *yes = err >= 0 && name && is(name);
    mem_free(name);
    mem_free(shown);
    return err;
}

/* Whether autograd needs the blocks of a site that the program holds, by who made the last of them
 * and what was made of it. */
static int find_need(struct levers_work *work, int64_t site, enum need *need)
{
    const struct levers_step *step = &work->step;
    const struct levers_block *held = NULL;
    bool saved = false, spared = false;
    for (size_t i = step->older; i < step->count; i++)
        if (step->blocks[i].site == site && step->blocks[i].purpose == PURPOSE_HELD &&
            (!held || step->blocks[i].seq <= step->peak))
            held = &step->blocks[i];
    int err = ask_name(work, site, saves_output, &saved);
    const struct levers_block *next = held && !saved ? made_of(step, held) : NULL;
    if (err >= 0 && next)
        err = ask_name(work, next->site, spares_input, &spared);
    *need = saved ? NEED_SURE : spared ? NEED_NONE : NEED_UNKNOWN;
    return err;
}

/* ---- what is held ---- */

/* What autograd keeps of the cache, it keeps. */
static int find_needs(struct levers_work *work, struct variable *variable)
{
    const struct levers_step *step = &work->step;
    int err = 0;
    for (size_t i = 0; i < step->count && err >= 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        enum need need = NEED_SURE;
        if (!is_of(step, variable, block) ||
            map_get(&variable->needs, (uint64_t)block->site) != MAP_NONE)
            continue;
        if (map_get(&work->cache.sites, (uint64_t)block->site) == MAP_NONE)
            err = find_need(work, block->site, &need);
        variable->unknown = variable->unknown || need == NEED_UNKNOWN;
        variable->others += block->site != variable->site;
        if (err >= 0 && !map_put(&variable->needs, (uint64_t)block->site, need, NULL))
            err = ERR_NOMEM;
    }
    return err;
}

/* Not known: either way the same comes out, within a hundredth, or it is 'at most'. */
static int try_held(struct levers_work *work, const struct variable *variable,
                    struct levers_words *words)
{
    struct levers_edit early = {0}, late = {0};
    int64_t with_early, with_late = 0;
    int err = let_go(work, variable, false, &early);
    if (err >= 0 && variable->unknown)
        err = let_go(work, variable, true, &late);
    if (err >= 0 && variable->unknown)
        err = levers_highest(&work->step, &early, &with_early, NULL);
    if (err >= 0 && variable->unknown) {
        err = levers_highest(&work->step, &late, &with_late, NULL);
        words->at_most =
            err >= 0 && with_late - with_early > (work->step.highest - with_early) / 100;
    }
    if (err >= 0)
        err = levers_try(work, &early, words);
    levers_edit_clear(&early);
    levers_edit_clear(&late);
    return err;
}

/* One that was made once and lives to the end is a cache, and no variable of the loop. */
static bool comes_again(const struct levers_step *step, int64_t site)
{
    size_t count = 0;
    for (size_t i = 0; i < step->count; i++)
        if (step->blocks[i].site == site && step->blocks[i].purpose == PURPOSE_HELD &&
            (++count > 1 || step->blocks[i].end != LEVERS_NEVER))
            return true;
    return step->first == step->last;
}

/* A lever of its own says what to do about all that it holds. */
static bool is_named(const struct levers_work *work, int64_t site)
{
    for (size_t i = 0; i < work->out->count; i++)
        if (work->out->levers[i].kind == LEVER_RETAIN_GRAPH)
            return true;
    return map_get(&work->cache.sites, (uint64_t)site) != MAP_NONE || levers_leaks(work, site);
}

/* It goes with the variable of a larger one. */
static bool is_taken(const struct levers_step *step, const struct map *taken, int64_t site)
{
    for (size_t i = 0; i < step->count; i++)
        if (is_held(step, &step->blocks[i]) && step->blocks[i].site == site &&
            step->blocks[i].end != LEVERS_NEVER &&
            map_get(taken, moment_of(step, &step->blocks[i])) != MAP_NONE)
            return true;
    return false;
}

/* Of one of its blocks; GROUP_NONE: not known. */
static int64_t module_of(const struct levers_step *step, int64_t site)
{
    for (size_t i = step->older; i < step->count; i++)
        if (step->blocks[i].site == site && is_held(step, &step->blocks[i]))
            return step->blocks[i].module;
    return GROUP_NONE;
}

/* All that is known of it is that it goes before backward is over. */
static bool is_only_known_later(const struct levers_work *work, int64_t site)
{
    const struct levers_step *step = &work->step;
    for (size_t i = step->older; i < step->count; i++) {
        const struct levers_block *block = &step->blocks[i];
        const struct levers_phase *backward =
            block->site == site && is_held(step, block)
                ? levers_phase_after(&step->phases, LEVERS_BACKWARD, block->seq)
                : NULL;
        if (backward && end_in_backward(step, block, backward) == backward->end)
            return true;
    }
    return false;
}

static int try_variable(struct levers_work *work, int64_t site, struct map *taken)
{
    struct variable variable = {.site = site};
    char after[96], *name = NULL;
    int err = find_ends(&work->step, &variable);
    if (err >= 0)
        err = find_needs(work, &variable);
    if (err >= 0)
        err = levers_output_name(work->db, site, module_of(&work->step, site), &name);
    bool sure =
        map_get(&variable.needs, (uint64_t)site) == NEED_SURE && is_only_known_later(work, site);
    snprintf(after, sizeof after, "%s%s%s",
             sure ? " after loss.backward()" : " before loss.backward()",
             work->step.cut_short && !sure ? ", as it did in the step before" : "",
             variable.others ? ", and all that the variable holds" : "");
    struct levers_words words = {.kind = LEVER_HELD,
                                 .site = site,
                                 .before = "del the variable that holds the output of ",
                                 .name = site == GROUP_NONE ? "calls without a stack" : name,
                                 .after = after};
    if (err >= 0)
        err = try_held(work, &variable, &words);
    for (size_t i = 0; i < work->step.count && err >= 0; i++)
        if (is_of(&work->step, &variable, &work->step.blocks[i]) &&
            work->step.blocks[i].end != LEVERS_NEVER &&
            !map_put(taken, moment_of(&work->step, &work->step.blocks[i]), 1, NULL))
            err = ERR_NOMEM;
    map_clear(&variable.ends);
    map_clear(&variable.needs);
    mem_free(name);
    return err;
}

/* ---- what a call made once ---- */

struct once { /* places of blocks that are set aside */
    size_t *blocks;
    size_t count, cap;
};

/* A whole step behind that of the block, before the one of the peak: its call had to make another.
 */
static bool was_a_step_between(const struct levers_step *step, const struct levers_block *block)
{
    const struct levers_phase *own =
        levers_phase_after(&step->phases, LEVERS_OPTIMIZER, block->seq);
    const struct levers_phase *next =
        own ? levers_phase_after(&step->phases, LEVERS_OPTIMIZER, own->end) : NULL;
    return next && next->end < step->own_begin;
}

static uint64_t like_of(const struct levers_block *block)
{
    return (uint64_t)block->site << 40 ^ (uint64_t)block->asked;
}

/* What a call made in an early step and not again is its own state, as that of a dropout in cuDNN's
 * RNNs, though the same call makes outputs in each step. From the last block on back. */
static int set_aside(struct levers_step *step, struct once *once)
{
    struct map later = {0};
    int err = 0;
    for (size_t i = step->count; i-- > 0 && err == 0;) {
        struct levers_block *block = &step->blocks[i];
        bool old = block->purpose == PURPOSE_HELD && block->end > step->own_end &&
                   map_get(&later, like_of(block)) == MAP_NONE && was_a_step_between(step, block);
        if (old && MEM_GROW(once->blocks, once->cap, once->count + 1)) {
            once->blocks[once->count++] = i;
            block->purpose = PURPOSE_OTHER;
        } else if (old || !map_put(&later, like_of(block), 1, NULL)) {
            err = ERR_NOMEM;
        }
    }
    map_clear(&later);
    return err;
}

static void put_back(struct levers_step *step, struct once *once)
{
    for (size_t i = 0; i < once->count; i++)
        step->blocks[once->blocks[i]].purpose = PURPOSE_HELD;
    mem_free(once->blocks);
}

static int find_held(struct levers_work *work)
{
    struct groups sites = {0};
    struct map taken = {0};
    int err = group_sites(work, is_held, &sites);
    for (size_t i = 0; i < sites.count && err >= 0; i++) {
        int64_t site = sites.groups[i].id;
        if (comes_again(&work->step, site) && !is_named(work, site) &&
            !is_taken(&work->step, &taken, site))
            err = try_variable(work, site, &taken);
    }
    groups_clear(&sites);
    map_clear(&taken);
    return err;
}

int levers_held(struct levers_work *work)
{
    struct once once = {0};
    int err = set_aside(&work->step, &once);
    if (err >= 0)
        err = find_held(work);
    put_back(&work->step, &once);
    return err;
}

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
    const struct levers_step *step = &work->step;
    struct groups sites = {0};
    struct levers_edit edit = {0};
    int err = group_sites(work, is_workspace, &sites);
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
        .before = "CUBLAS_WORKSPACE_CONFIG=:0:0 turns cuBLAS' workspaces off (slower); :KIB:COUNT "
                  "or torch.backends.cuda.cublas_workspace_size() makes them smaller"};
    const struct levers_step *step = &work->step;
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
