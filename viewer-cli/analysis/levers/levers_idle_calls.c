/* levers_idle_calls.c - see levers_idle_calls.h. */
#include "levers_idle_calls.h"

#include <string.h>

#include "error.h"
#include "group.h"
#include "mem.h"
#include "query.h"

enum {
    MODULES_LEAST = 2, /* that keep something: a module may have a backward that makes nothing */
    CONSUMED = 8       /* less than one part of so many goes in a backward */
};

static const struct levers_step *step_of(const struct idle_calls *all)
{
    return all->no_grad.step;
}

static const struct module_entry *module_at(const struct idle_calls *all, size_t block)
{
    const int64_t id = step_of(all)->blocks[block].module;
    return id == GROUP_NONE ? NULL : module_index_at(&all->modules, id);
}

/* ---- what a backward made something for ---- */

#define HASH_BEGIN 14695981039346656037u /* FNV-1a */

static uint64_t hash_on(uint64_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * 1099511628211u;
}

static uint64_t hash_of(const char *text, size_t bytes)
{
    uint64_t hash = HASH_BEGIN;
    for (size_t i = 0; i < bytes; i++)
        hash = hash_on(hash, text[i]);
    return hash;
}

/* Its path, and all that is around it: 'net', 'net.0'. In one pass: a path may be of any length. */
static int add_worker(struct idle_calls *all, int64_t id)
{
    const struct module_entry *entry = module_index_at(&all->modules, id);
    uint64_t hash = HASH_BEGIN;
    if (!map_put(&all->worked, (uint64_t)id, 1, NULL))
        return ERR_NOMEM;
    all->first_works = all->first_works || (entry && !levers_model_of(entry->path).bytes);
    for (const char *at = entry ? entry->path : ""; *at; at++) {
        hash = hash_on(hash, *at);
        if ((at[1] == '.' || at[1] == '\0') && !map_put(&all->parts, hash, 1, NULL))
            return ERR_NOMEM;
    }
    return 0;
}

static int find_workers(struct idle_calls *all)
{
    const struct levers_step *step = step_of(all);
    int err = 0;
    for (size_t i = step->older; i < step->count && err == 0; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->module != GROUP_NONE &&
            map_get(&all->worked, (uint64_t)block->module) == MAP_NONE &&
            levers_phase_around(&step->phases, LEVERS_BACKWARD, block->seq))
            err = add_worker(all, block->module);
    }
    return err;
}

/* All other backwards of the process: what a window does not show may be trained now and then. */
static const char others_sql[] =
    "SELECT DISTINCT a.module FROM phase b"
    "  CROSS JOIN allocation a ON a.seq BETWEEN b.begin_seq"
    "    AND coalesce(b.end_seq, 9223372036854775807)"
    "  CROSS JOIN heap h ON h.id = a.heap AND h.process = ?1"
    " WHERE b.process = ?1 AND b.kind = 'backward' AND b.domain IS NULL"
    "   AND (b.begin_seq < ?2 OR b.begin_seq > ?3) AND a.module IS NOT NULL";

static int find_other_workers(struct idle_calls *all)
{
    const struct levers_seen *seen = &all->no_grad.work->seen;
    int64_t module = 0;
    struct query query = query_ask(
        seen->db, others_sql, Q_IN(seen->peak->process, step_of(all)->begin, step_of(all)->end),
        Q_OUT(Q_INT(module)));
    while (query_next(&query))
        query_fail(&query, add_worker(all, module));
    return query_end(&query);
}

static bool has_worked(const struct idle_calls *all, struct levers_part part)
{
    return map_get(&all->parts, hash_of(part.path, part.bytes)) != MAP_NONE;
}

/* A backward goes through a part of what is called. Paths of several models begin with their own
 * parts as long as no two of their modules share a path: then it has no part in common with what
 * worked. */
static bool is_in_work(const struct idle_calls *all, const struct idle_call *call)
{
    const size_t model = levers_model_of(call->name.path).bytes;
    if (call->name.bytes > model)
        return has_worked(all, call->name);
    if (model && has_worked(all, call->name))
        return true;
    for (size_t i = call->at.first; i < call->at.after; i++) {
        const struct module_entry *module = module_at(all, i);
        const char *own = module && module->path[model] ? module->path + model : NULL;
        own = own && *own == '.' ? own + 1 : own;
        if (own && has_worked(all, (struct levers_part){module->path, (size_t)(own - module->path) +
                                                                          strcspn(own, ".")}))
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
    return phase && phase->step != GROUP_NONE ? phase : NULL;
}

/* Made as the call's first block was, by another module than the last one: the next call. */
static bool begins_anew(const struct levers_step *step, const struct idle_call *call, size_t at)
{
    const struct levers_block *first = &step->blocks[call->at.first];
    const struct levers_block *block = &step->blocks[at];
    return block->module == first->module && block->asked == first->asked &&
           step->blocks[call->at.after - 1].module != block->module;
}

/* The block goes on with the last call, or begins one. */
static int take(struct idle_calls *all, size_t at, const struct levers_phase *phase,
                const char *path, bool *open)
{
    const struct levers_part model = levers_model_of(path);
    struct idle_call *call = all->count ? &all->calls[all->count - 1] : NULL;
    if (!*open || call->phase != phase ||
        !levers_same_part(levers_model_of(call->name.path), model) ||
        begins_anew(step_of(all), call, at)) {
        if (!MEM_GROW(all->calls, all->cap, all->count + 1))
            return ERR_NOMEM;
        call = &all->calls[all->count++];
        *call =
            (struct idle_call){.phase = phase, .at = {.first = at}, .name = {path, strlen(path)}};
        *open = true;
    }
    call->name = levers_part_around(call->name, path);
    call->at.after = at + 1;
    call->at.end = step_of(all)->blocks[at].seq;
    return 0;
}

static int find_calls(struct idle_calls *all)
{
    const struct levers_step *step = step_of(all);
    bool open = false;
    int err = 0;
    for (size_t i = step->older; i < step->count && err == 0; i++) {
        const struct levers_phase *phase = forward_at(step, step->blocks[i].seq);
        const struct module_entry *module = module_at(all, i);
        if (!phase || (module && map_get(&all->worked, (uint64_t)module->id) != MAP_NONE))
            open = false;
        else if (module)
            err = take(all, i, phase, module->path, &open);
    }
    return err;
}

/* Most of it is there for nothing. */
static int is_graph(const struct idle_calls *all, const struct idle_call *call, bool *yes)
{
    const struct levers_step *step = step_of(all);
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

/* ---- which are idle ---- */

static bool has_backward(const struct levers_step *step, const struct idle_call *call)
{
    const struct levers_phase *backward =
        levers_phase_after(&step->phases, LEVERS_BACKWARD, call->at.end);
    return backward && backward->end != LEVERS_NEVER && backward->step == call->phase->step;
}

/* The modules of calls with a backward behind them are idle. */
static int find_idle(struct idle_calls *all)
{
    int err = 0;
    for (size_t i = 0; i < all->count && err == 0; i++) {
        const struct idle_call *call = &all->calls[i];
        const bool proves = has_backward(step_of(all), call);
        err = no_grad_find_outputs(&all->no_grad, &call->at);
        for (size_t j = call->at.first; j < call->at.after && proves && err == 0; j++) {
            const int64_t module = step_of(all)->blocks[j].module;
            if (module != GROUP_NONE && !map_put(&all->idle, (uint64_t)module, 1, NULL))
                err = ERR_NOMEM;
        }
    }
    return err;
}

static bool is_idle(const struct idle_calls *all, const struct idle_call *call)
{
    for (size_t i = call->at.first; i < call->at.after; i++) {
        const int64_t module = step_of(all)->blocks[i].module;
        if (module != GROUP_NONE && (map_get(&all->idle, (uint64_t)module) == MAP_NONE ||
                                     map_get(&all->worked, (uint64_t)module) != MAP_NONE))
            return false;
    }
    return true;
}

static int drop_others(struct idle_calls *all)
{
    size_t kept = 0;
    int err = 0;
    for (size_t i = 0; i < all->count && err == 0; i++) {
        bool graph = false;
        if (is_idle(all, &all->calls[i]) && !is_in_work(all, &all->calls[i]))
            err = is_graph(all, &all->calls[i], &graph);
        if (graph)
            all->calls[kept++] = all->calls[i];
    }
    all->count = kept;
    return err;
}

/* The outermost module of a model whose paths begin with its parts: the first has no path, another
 * its class. */
static bool is_unnamed(const struct module_entry *entry)
{
    return !*entry->path || strcmp(entry->path, entry->class_name) == 0;
}

bool idle_call_is_unnamed(const struct idle_calls *all, const struct idle_call *call)
{
    return all->first_works && !call->name.bytes;
}

size_t idle_call_neighbour(const struct idle_calls *all, const struct idle_call *call, bool behind)
{
    const struct levers_step *step = step_of(all);
    for (size_t i = behind ? call->at.after : call->at.first; behind ? i < step->count : i-- > 0;
         i += behind) {
        const struct module_entry *module = module_at(all, i);
        if (forward_at(step, step->blocks[i].seq) != call->phase)
            break;
        if (module && map_get(&all->worked, (uint64_t)module->id) != MAP_NONE)
            return i;
    }
    return SIZE_MAX;
}

const char *idle_call_class(const struct idle_calls *all, const struct idle_call *call)
{
    const struct module_entry *only = NULL;
    size_t others = 0;
    for (size_t i = call->at.first; i < call->at.after; i++) {
        const struct module_entry *module = module_at(all, i);
        if (module && is_unnamed(module))
            return module_entry_text(module);
    }
    for (size_t i = 0; i < all->modules.count; i++) {
        const struct module_entry *entry = &all->modules.entries[i];
        if (!is_unnamed(entry) || map_get(&all->worked, (uint64_t)entry->id) != MAP_NONE)
            continue;
        only = entry;
        others++;
    }
    return others == 1 ? module_entry_text(only) : NULL;
}

/* Calls of one name may be many. */
static int find_names(struct idle_calls *all)
{
    struct map names = {0};
    int err = 0;
    for (size_t i = 0; i < all->count && err == 0; i++) {
        struct idle_call *call = &all->calls[i];
        const uint64_t name = hash_of(call->name.path, call->name.bytes);
        const uint64_t first = map_get(&names, name);
        call->named = first == MAP_NONE ? i : (size_t)first;
        if (first == MAP_NONE && !map_put(&names, name, i, NULL))
            err = ERR_NOMEM;
    }
    map_clear(&names);
    return err;
}

static int find(struct idle_calls *all)
{
    if (!step_of(all)->phases.of[LEVERS_BACKWARD].count)
        return 0;
    int err = module_index_read(all->no_grad.work->seen.db, &all->modules);
    if (err >= 0 && all->modules.count)
        err = find_workers(all);
    if (err >= 0 && all->worked.count) /* else no gradient of the recording knows its module */
        err = find_calls(all);
    if (err >= 0)
        err = find_idle(all);
    if (err >= 0)
        err = drop_others(all);
    if (err < 0 || !all->count)
        return err;
    err = find_other_workers(all);
    if (err >= 0)
        err = drop_others(all);
    return err < 0 ? err : find_names(all);
}

int idle_calls_of(struct levers_work *work, struct idle_calls **out)
{
    int err = 0;
    if (!work->idle) {
        work->idle = mem_alloc(1, sizeof *work->idle);
        if (!work->idle)
            return ERR_NOMEM;
        *work->idle = (struct idle_calls){.no_grad = {.work = work, .step = &work->seen.step}};
        err = find(work->idle);
    }
    *out = work->idle;
    return err;
}

void idle_calls_clear(struct levers_work *work)
{
    struct idle_calls *all = work->idle;
    if (!all)
        return;
    no_grad_clear(&all->no_grad);
    module_index_clear(&all->modules);
    map_clear(&all->worked);
    map_clear(&all->parts);
    map_clear(&all->idle);
    mem_free(all->calls);
    mem_free(all);
    work->idle = NULL;
}
