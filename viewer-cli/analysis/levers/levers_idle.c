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
    struct levers_part tried;
};

static int make_edit(struct no_grad *no_grad, void *self)
{
    const struct idle *all = self;
    int err = 0;
    no_grad_begin_edit(no_grad);
    for (size_t i = 0; i < all->found->count && err >= 0; i++)
        if (levers_same_part(all->found->calls[i].name, all->tried))
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
    all->tried = call->name;
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

/* Steps that call it, of those of the window. */
static int64_t steps_of(const struct idle_calls *found, struct levers_part name)
{
    int64_t count = 0, last = GROUP_NONE;
    for (size_t i = 0; i < found->count; i++) {
        const struct idle_call *call = &found->calls[i];
        if (!levers_same_part(call->name, name) || (count && call->phase->step == last))
            continue;
        last = call->phase->step;
        count++;
    }
    return count;
}

int levers_rare_calls(struct levers_work *work, struct map *places)
{
    const struct levers_step *step = &work->seen.step;
    struct idle_calls *found;
    int err = idle_calls_of(work, &found);
    for (size_t i = 0; err >= 0 && i < found->count; i++) {
        const struct no_grad_call *at = &found->calls[i].at;
        if (steps_of(found, found->calls[i].name) * 2 > step->last - step->first + 1)
            continue;
        for (size_t j = at->first; j < at->after && err >= 0; j++)
            err = map_put(places, j, 1, NULL) ? 0 : ERR_NOMEM;
    }
    return err;
}

int levers_idle(struct levers_work *work)
{
    struct idle all = {0};
    int err = idle_calls_of(work, &all.found);
    for (size_t i = 0; err >= 0 && i < all.found->count; i++) {
        struct idle_call *calls = all.found->calls;
        if (calls[i].tried)
            continue;
        for (size_t j = i; j < all.found->count; j++)
            calls[j].tried |= levers_same_part(calls[j].name, calls[i].name);
        err = try_call(&all, &calls[i]);
    }
    return err;
}
