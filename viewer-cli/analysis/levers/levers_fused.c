/*
 * A lever on activation functions that are written as several operations, each of which leaves a
 * tensor for backward. The fused operation saves its input.
 */
#include <string.h>

#include "buf.h"
#include "error.h"
#include "levers_units.h"
#include "levers_work.h"
#include "mem.h"

enum { SAVED_LEAST = 3 };

static bool is_in_pieces(const struct levers_unit *unit)
{
    return strncmp(unit->name, "NewGELU", 7) == 0;
}

static bool is_saved(const struct levers_block *block)
{
    return block->purpose == PURPOSE_ACTIVATION;
}

/* The last block of a call is what goes on to others. */
static int cut_call(const struct levers_step *step, const struct levers_call *call,
                    struct levers_edit *edit, size_t *saved)
{
    size_t count = 0;
    for (size_t i = call->first; i < call->last; i++) {
        count += is_saved(&step->blocks[i]);
        if (!levers_cut(edit, i, INT64_MIN, LEVERS_NEVER))
            return ERR_NOMEM;
    }
    *saved = count > *saved ? count : *saved;
    return 0;
}

static int try_unit(struct levers_work *work, const struct levers_unit *unit)
{
    struct levers_edit edit = {0};
    struct buf text = {0};
    size_t saved = 0;
    int err = 0;
    for (size_t i = 0; i < unit->count && err >= 0; i++)
        err = cut_call(&work->step, &unit->calls[i], &edit, &saved);
    buf_print(&text,
              "torch.nn.functional.gelu(x, approximate='tanh') in each %s%s%s%s, where %zu tensors "
              "are saved (transformers: activation_function='gelu_pytorch_tanh')",
              unit->name, unit->instances ? " (" : "", unit->instances ? unit->instances : "",
              unit->instances ? ")" : "", saved);
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
    int err = 0;
    for (size_t i = 0; i < work->units.count && err >= 0; i++)
        if (is_in_pieces(&work->units.units[i]))
            err = try_unit(work, &work->units.units[i]);
    return err;
}
