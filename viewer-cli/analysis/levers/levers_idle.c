/*
 * A lever on calls that no backward goes through (levers_idle_calls.h): one for each model, or part
 * of a model, that is called so.
 */
#include <string.h>

#include "buf.h"
#include "error.h"
#include "group.h"
#include "levers_caller.h"
#include "levers_idle_calls.h"
#include "mem.h"

struct idle {
    struct idle_calls *found;
    size_t tried; /* the first call of that name */
};

static int make_edit(struct no_grad *no_grad, void *self)
{
    const struct idle *all = self;
    int err = 0;
    no_grad_begin_edit(no_grad);
    for (size_t i = 0; i < all->found->count && err >= 0; i++)
        if (all->found->calls[i].named == all->tried)
            err = no_grad_cut(no_grad, &all->found->calls[i].at);
    return err < 0 ? err : no_grad_cut_older(no_grad);
}

/* The class of a part that has a path of its own; NULL: not known. */
static const char *class_of(const struct idle *all, struct levers_part name)
{
    const struct module_index *modules = &all->found->modules;
    for (size_t i = 0; i < modules->count && name.bytes; i++) {
        const struct module_entry *entry = &modules->entries[i];
        if (strlen(entry->path) == name.bytes && memcmp(entry->path, name.path, name.bytes) == 0)
            return levers_place_last_name(entry->class_name);
    }
    return NULL;
}

static int read_caller(const struct idle *all, const struct idle_call *call,
                       struct levers_caller *out)
{
    const struct levers_step *step = all->found->no_grad.step;
    int err = 0;
    for (size_t i = call->at.first; i < call->at.after && err >= 0; i++)
        if (step->blocks[i].site != GROUP_NONE)
            err = levers_caller_add(all->found->no_grad.work->seen.db, out, step->blocks[i].site);
    levers_caller_find(out, class_of(all, call->name));
    return err;
}

/* A part of a model that a backward goes through: that line calls what is beside it, too. */
static int is_part(const struct idle *all, const struct idle_call *call,
                   struct levers_caller *caller, bool *yes)
{
    const struct levers_step *step = all->found->no_grad.step;
    int err = 0;
    *yes = false;
    for (int behind = 0; behind < 2 && err >= 0 && !*yes; behind++) {
        const size_t at = idle_call_neighbour(all->found, call, behind != 0);
        if (at != SIZE_MAX)
            err = levers_caller_has(all->found->no_grad.work->seen.db, caller,
                                    step->blocks[at].site, yes);
    }
    return err;
}

static int put_name(const struct idle *all, const struct idle_call *call,
                    const struct levers_caller *caller, struct buf *out)
{
    const char *class = idle_call_class(all->found, call);
    const struct levers_last called = levers_caller_class(caller);
    if (call->name.bytes)
        return levers_put_part(&all->found->modules, call->name, out);
    if (called.bytes)
        buf_add(out, called.begin, called.bytes);
    else if (class)
        buf_text(out, class);
    else
        buf_text(out, "the model");
    return out->broken ? ERR_NOMEM : 0;
}

static int put_words(const struct idle *all, const struct idle_call *call,
                     const struct levers_caller *caller, struct buf *text, struct buf *brief)
{
    char *called = NULL;
    buf_text(text, "with torch.no_grad(): around ");
    buf_text(brief, "torch.no_grad() around ");
    int err = put_name(all, call, caller, text);
    if (err >= 0)
        err = put_name(all, call, caller, brief);
    if (err >= 0)
        err = levers_caller_text(caller, &called);
    if (called)
        buf_print(text, ", called in %s", called);
    buf_text(text, ": it keeps activations for a backward, and none of the recorded steps uses "
                   "them");
    mem_free(called);
    return err < 0 ? err : text->broken || brief->broken ? ERR_NOMEM : 0;
}

static int try_words(struct idle *all, const struct idle_call *call,
                     const struct levers_caller *caller)
{
    struct buf text = {0}, brief = {0};
    int err = put_words(all, call, caller, &text, &brief);
    struct levers_words words = {.kind = LEVER_NO_GRAD,
                                 .site = LEVERS_NONE,
                                 .before = buf_string(&text),
                                 .brief = buf_string(&brief)};
    all->tried = call->named;
    if (err >= 0)
        err = no_grad_try(&all->found->no_grad, make_edit, all, &words);
    buf_clear(&text);
    buf_clear(&brief);
    return err;
}

static int try_call(struct idle *all, const struct idle_call *call)
{
    struct levers_caller caller = {0};
    bool part = false;
    int err = read_caller(all, call, &caller);
    if (err >= 0 && idle_call_is_unnamed(all->found, call))
        err = is_part(all, call, &caller, &part);
    if (err >= 0 && !part)
        err = try_words(all, call, &caller);
    levers_caller_clear(&caller);
    return err;
}

/* With a forward; a program may number them as it likes. */
static size_t count_steps(const struct levers_phases *phases)
{
    const struct levers_phase_row *forwards = &phases->of[LEVERS_FORWARD];
    int64_t last = GROUP_NONE;
    size_t count = 0;
    for (size_t i = 0; i < forwards->count; i++) {
        const int64_t step = phases->phases[forwards->at[i]].step;
        count += step != GROUP_NONE && step != last;
        last = step != GROUP_NONE ? step : last;
    }
    return count;
}

/* Of each name, at the place of its first call: the steps that have one. */
static void count_callers(const struct idle_calls *found, size_t *callers, int64_t *last)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct idle_call *call = &found->calls[i];
        callers[call->named] += !callers[call->named] || call->phase->step != last[call->named];
        last[call->named] = call->phase->step;
    }
}

static int put_blocks(const struct no_grad_call *call, struct map *places)
{
    int err = 0;
    for (size_t i = call->first; i < call->after && err == 0; i++)
        err = map_put(places, i, 1, NULL) ? 0 : ERR_NOMEM;
    return err;
}

static int put_rare(const struct idle_calls *found, const size_t *callers, size_t steps,
                    struct map *places)
{
    int err = 0;
    for (size_t i = 0; i < found->count && err == 0; i++)
        if (callers[found->calls[i].named] * 2 <= steps)
            err = put_blocks(&found->calls[i].at, places);
    return err;
}

int levers_idle_blocks(struct levers_work *work, struct map *places)
{
    struct idle_calls *found;
    int err = idle_calls_of(work, &found);
    for (size_t i = 0; err >= 0 && i < found->count; i++)
        err = put_blocks(&found->calls[i].at, places);
    return err;
}

int levers_rare_calls(struct levers_work *work, struct map *places)
{
    struct idle_calls *found;
    int err = idle_calls_of(work, &found);
    if (err < 0 || !found->count)
        return err;
    size_t *callers = mem_alloc(found->count, sizeof *callers);
    int64_t *last = mem_alloc(found->count, sizeof *last);
    err = callers && last ? 0 : ERR_NOMEM;
    if (err == 0) {
        count_callers(found, callers, last);
        err = put_rare(found, callers, count_steps(&work->seen.step.phases), places);
    }
    mem_free(callers);
    mem_free(last);
    return err;
}

int levers_idle(struct levers_work *work)
{
    struct idle all = {0};
    int err = idle_calls_of(work, &all.found);
    for (size_t i = 0; err >= 0 && i < all.found->count; i++)
        if (all.found->calls[i].named == i)
            err = try_call(&all, &all.found->calls[i]);
    return err;
}
