/*
 * A lever on GELU that is written as several operations, each of which leaves a tensor for
 * backward. The fused operation saves its input. It is known by what its operations do
 * (levers_pieces.h), or by the name of its class where all that the class makes is of one size:
 * other activations have other fused operations, or none, as QuickGELU.
 */
#include <string.h>

#include "buf.h"
#include "error.h"
#include "group.h"
#include "levers_pieces.h"
#include "levers_units.h"
#include "levers_work.h"
#include "mem.h"

enum { SAVED_LEAST = 3 };

/* All that it makes is of one size, and its own. */
static bool is_of_one_size(const struct levers_step *step, const struct levers_call *call)
{
    const struct levers_block *first = NULL;
    for (size_t i = call->first; i <= call->last; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->asked <= LEVERS_SCALAR)
            continue;
        if (first && (block->asked != first->asked || block->module != first->module))
            return false;
        first = first ? first : block;
    }
    return first != NULL;
}

static bool has_name(const struct levers_unit *unit)
{
    return strcasestr(unit->name, "gelu") && !strcasestr(unit->name, "quick");
}

/* By tanh, written out; of every call. */
static bool is_by_tanh(const struct levers_scalars *scalars, const struct levers_step *step,
                       const struct levers_unit *unit)
{
    for (size_t i = 0; i < unit->count; i++) {
        size_t first = unit->calls[i].first;
        while (first < unit->calls[i].last && step->blocks[first].asked <= LEVERS_SCALAR)
            first++;
        if (!is_of_one_size(step, &unit->calls[i]) || !levers_is_gelu(scalars, step, first))
            return false;
    }
    return unit->count > 0;
}

static bool is_in_pieces(const struct levers_step *step, const struct levers_unit *unit)
{
    for (size_t i = 0; i < unit->count; i++)
        if (!is_of_one_size(step, &unit->calls[i]))
            return false;
    return unit->count > 0;
}

static bool is_saved(const struct levers_block *block)
{
    return block->purpose == PURPOSE_ACTIVATION;
}

/* What it was given, if that is as large as what it makes. Where nobody else needs it in backward,
 * the fused operation does. */
static bool keep_input(const struct levers_step *step, const struct levers_call *call, int64_t end,
                       struct levers_edit *edit)
{
    size_t at = call->first, first = call->first;
    while (first < call->last && step->blocks[first].asked <= LEVERS_SCALAR)
        first++;
    while (at-- > step->older)
        if (step->blocks[at].asked > LEVERS_SCALAR)
            return step->blocks[at].asked != step->blocks[first].asked ||
                   step->blocks[at].end > call->forward->end || levers_lengthen(edit, at, end);
    return true;
}

/* The last block of a call is what goes on to others. */
static int cut_call(const struct levers_step *step, const struct levers_call *call,
                    struct levers_edit *edit, size_t *saved)
{
    size_t count = 0;
    int64_t end = 0;
    for (size_t i = call->first; i < call->last; i++) {
        const struct levers_block *block = &step->blocks[i];
        if (block->asked <= LEVERS_SCALAR)
            continue;
        count += is_saved(block);
        end = is_saved(block) && block->end > end ? block->end : end;
        if (!levers_cut(edit, i, INT64_MIN, LEVERS_NEVER))
            return ERR_NOMEM;
    }
    *saved = count > *saved ? count : *saved;
    return count == 0 || keep_input(step, call, end, edit) ? 0 : ERR_NOMEM;
}

/* ---- backward ---- */

static bool is_gradient(const struct levers_step *step, size_t at, int64_t asked, int64_t module)
{
    return step->blocks[at].asked == asked && step->blocks[at].module == module &&
           levers_phase_around(&step->phases, LEVERS_BACKWARD, step->blocks[at].seq);
}

/* From the first one of a row on; `after` is behind the row. The fused operation makes the gradient
 * that goes on, which is the one that lives longest. */
static bool cut_row(const struct levers_step *step, size_t at, size_t *after,
                    struct levers_edit *edit)
{
    const int64_t asked = step->blocks[at].asked, module = step->blocks[at].module;
    size_t longest = at, end = at;
    for (; end < step->count &&
           (is_gradient(step, end, asked, module) || step->blocks[end].asked <= LEVERS_SCALAR);
         end++)
        if (step->blocks[end].asked == asked && step->blocks[end].end > step->blocks[longest].end)
            longest = end;
    *after = end;
    for (size_t i = at; i < end; i++)
        if (i != longest && step->blocks[i].asked == asked &&
            !levers_cut(edit, i, INT64_MIN, LEVERS_NEVER))
            return false;
    return true;
}

/* What each of the unit's modules makes in backward that is as large as its output. */
static int cut_gradients(const struct levers_step *step, const struct levers_unit *unit,
                         struct levers_edit *edit)
{
    struct map modules = {0}; /* to the bytes */
    bool done = true;
    for (size_t i = 0; i < unit->count && done; i++) {
        const struct levers_block *last = &step->blocks[unit->calls[i].last];
        done = last->module == GROUP_NONE ||
               map_put(&modules, (uint64_t)last->module, (uint64_t)last->asked, NULL);
    }
    for (size_t i = step->older; i < step->count && done;) {
        const struct levers_block *block = &step->blocks[i];
        size_t after = i + 1;
        if (block->module != GROUP_NONE &&
            map_get(&modules, (uint64_t)block->module) == (uint64_t)block->asked &&
            is_gradient(step, i, block->asked, block->module))
            done = cut_row(step, i, &after, edit);
        i = after;
    }
    map_clear(&modules);
    return done ? 0 : ERR_NOMEM;
}

/* ---- the lever ---- */

static int try_unit(struct levers_work *work, const struct levers_unit *unit, bool by_tanh)
{
    struct levers_edit edit = {0};
    struct buf text = {0};
    size_t saved = 0;
    int err = 0;
    for (size_t i = 0; i < unit->count && err >= 0; i++)
        err = cut_call(&work->seen.step, &unit->calls[i], &edit, &saved);
    if (err >= 0)
        err = cut_gradients(&work->seen.step, unit, &edit);
    buf_print(&text, "%s in each %s%s%s%s, where %zu tensors are saved%s",
              by_tanh ? "torch.nn.functional.gelu(x, approximate='tanh')"
                      : "torch.nn.functional.gelu(x), with approximate='tanh' if it is by tanh,",
              unit->name, unit->instances ? " (" : "", unit->instances ? unit->instances : "",
              unit->instances ? ")" : "", saved,
              unit->of_library ? " (transformers: activation_function='gelu_pytorch_tanh')" : "");
    const struct levers_words words = {.kind = LEVER_FUSED_OPERATION,
                                       .estimated = true,
                                       .site = LEVERS_NONE,
                                       .before = buf_string(&text)};
    if (err >= 0 && text.broken)
        err = ERR_NOMEM;
    if (err >= 0 && saved >= SAVED_LEAST)
        err = levers_try(work, &edit, &words);
    levers_edit_clear(&edit);
    buf_clear(&text);
    return err;
}

int levers_fused_operation(struct levers_work *work)
{
    const struct levers_step *step = &work->seen.step;
    struct levers_scalars scalars = {0};
    int err = work->units.count ? levers_scalars_read(&work->seen, &scalars) : 0;
    for (size_t i = 0; i < work->units.count && err >= 0; i++) {
        const struct levers_unit *unit = &work->units.units[i];
        const bool by_tanh =
            strncmp(unit->name, "NewGELU", 7) == 0 || is_by_tanh(&scalars, step, unit);
        if (by_tanh || (has_name(unit) && is_in_pieces(step, unit)))
            err = try_unit(work, unit, by_tanh);
    }
    levers_scalars_clear(&scalars);
    return err;
}
